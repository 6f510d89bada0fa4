public import Foundation
public import ObservableStorage

/// A domain of user defaults of a test's own, removed with its file when the test lets go of it.
public final class TemporaryDomain: Sendable {
    /// What the domain is called.
    public let name = "ObservableStorage-\(UUID().uuidString)"

    private struct UnknownSuite: Error {}

    /// Names a domain that nobody has used.
    public init() {}

    deinit {
        // Key by key: removing a domain as a whole tells all observers of all domains.
        guard let defaults = UserDefaults(suiteName: name) else { return }
        for key in defaults.persistentDomain(forName: name)?.keys ?? [:].keys { defaults.removeObject(forKey: key) }
        defaults.synchronize()
    }

    /// The domain as Foundation gives it.
    public var defaults: UserDefaults {
        get throws {
            guard let defaults = UserDefaults(suiteName: name) else { throw UnknownSuite() }
            return defaults
        }
    }

    /// A backend over the domain.
    public func makeBackend() throws -> UserDefaultsBackend {
        guard let backend = UserDefaultsBackend(suiteName: name) else { throw UnknownSuite() }
        return backend
    }
}
