/// A row of the table: a piece of work, and how much it may cost.
struct Row: Sendable {
    /// What it is asked for by: dotted, the family first.
    let name: String
    /// What the library does.
    let work: String
    /// What it is compared with.
    let bare: String
    /// The largest ratio that is good enough; nothing for a row that is there for orientation.
    let goal: Double?
    let prepare: @Sendable (Place) async throws -> Pair

    init(
        _ name: String, _ work: String, against bare: String, goal: Double? = nil,
        prepare: @escaping @Sendable (Place) async throws -> Pair
    ) {
        self.name = name
        self.work = work
        self.bare = bare
        self.goal = goal
        self.prepare = prepare
    }
}
