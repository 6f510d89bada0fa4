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
    /// How many equal parts the work has, to one of which the figures refer.
    let parts: Int
    let prepare: @Sendable (Place) async throws -> Pair

    init(
        _ name: String, _ work: String, against bare: String, goal: Double? = nil, parts: Int = 1,
        prepare: @escaping @Sendable (Place) async throws -> Pair
    ) {
        self.name = name
        self.work = work
        self.bare = bare
        self.goal = goal
        self.parts = parts
        self.prepare = prepare
    }
}
