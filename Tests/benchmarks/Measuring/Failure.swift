/// The reason why a benchmark cannot continue: the measured code did not do its work.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Checks that required work was done.
    static func unless(_ isDone: Bool, _ description: @autoclosure () -> String) throws {
        if !isDone { throw Failure(description()) }
    }
}
