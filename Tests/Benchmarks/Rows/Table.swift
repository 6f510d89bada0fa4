/// The rows in the order of the table.
enum Table {
    /// Those with a goal.
    static let rows =
        Reading.rows + Writing.rows + Listeners.rows + Readers.rows + Committing.rows + Locking.rows + External.rows + Codecs.rows
        + Opening.rows

    /// What a user would otherwise pick, and the least that a goal out of reach could cost.
    static let orientation = UserDefaultsRows.rows + Alternatives.rows + Limits.rows
}
