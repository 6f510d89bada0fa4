import Foundation

/// What the operand FILE means: a path, or the name of a domain, as `UserDefaults(suiteName:)` has them.
struct FilePlace: Equatable {
    /// The property list.
    let url: URL

    /// A path has a `/` or ends in `.plist`; anything else is a domain.
    init(_ operand: String, environment: [String: String], home: String) {
        if operand.contains("/") || operand.hasSuffix(".plist") {
            url = URL(fileURLWithPath: operand, isDirectory: false)
        } else {
            let folder = DomainFolder.path(environment: environment, home: home)
            url = URL(fileURLWithPath: "\(folder)/\(operand).plist", isDirectory: false)
        }
    }

    /// The place for this user.
    init(_ operand: String) {
        self.init(operand, environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory())
    }
}
