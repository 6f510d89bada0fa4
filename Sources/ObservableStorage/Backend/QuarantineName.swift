import Foundation

/// What a bad file is called once it is moved aside: `NAME.corrupt-20261120T101500.123456Z`, in UTC, so that names sort by age.
struct QuarantineName: Sendable {
    private let prefix: String

    init(of name: String) {
        prefix = name + ".corrupt-"
    }

    /// The name for a file that is moved aside at a time.
    func name(at date: Date) -> String {
        let microseconds = Int((date.timeIntervalSince1970 * 1_000_000).rounded(.down))
        let digits = String(1_000_000 + microseconds % 1_000_000).dropFirst()
        let time = Date(timeIntervalSince1970: TimeInterval(microseconds / 1_000_000)).ISO8601Format()
        return prefix + time.filter { $0 != "-" && $0 != ":" && $0 != "Z" } + "." + digits + "Z"
    }

    /// Whether a name is one of these.
    func matches(_ name: String) -> Bool {
        guard name.hasPrefix(prefix) else { return false }
        return name.dropFirst(prefix.count).wholeMatch(of: /[0-9]{8}T[0-9]{6}\.[0-9]{6}Z/) != nil
    }
}
