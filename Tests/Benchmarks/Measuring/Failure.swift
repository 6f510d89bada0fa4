/// Why a benchmark cannot go on: what it measures did not do its work.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Makes sure that work was done that others rely on.
    static func unless(_ isDone: Bool, _ description: @autoclosure () -> String) throws {
        if !isDone { throw Failure(description()) }
    }
}
