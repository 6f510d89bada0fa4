/// The rows in the order of the table.
enum Table {
    /// The rows with a goal.
    static let rows =
        Reading.rows + Writing.rows + Listeners.rows + Readers.rows + Committing.rows + Locking.rows + External.rows + Codecs.rows
        + Opening.rows + MixedCodecs.rows + EtcdRows.rows

    /// Alternatives to the library, and the minimum cost for goals that are not attainable.
    static let orientation = UserDefaultsRows.rows + Alternatives.rows + PeerRows.rows + Limits.rows + EtcdAlternatives.rows
}
