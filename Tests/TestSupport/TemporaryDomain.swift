public import Foundation
import ObservableStorage
public import UserDefaultsStorage

/// A separate domain of user defaults, removed with its file when the test releases it.
public final class TemporaryDomain: Sendable {
    /// The name of the domain.
    public let name = "ObservableStorage-\(UUID().uuidString)"

    private struct UnknownSuite: Error {}

    /// Creates a name that is not in use.
    public init() {}

    deinit {
        ProcessEnd.remove { [name] in Self.remove(name) }
    }

    private static func remove(_ name: String) {
        // Key by key: removing a whole domain notifies all observers of all domains.
        guard let defaults = UserDefaults(suiteName: name) else { return }
        for key in defaults.persistentDomain(forName: name)?.keys ?? [:].keys { defaults.removeObject(forKey: key) }
        defaults.synchronize()
    }

    /// The domain as Foundation returns it.
    public var defaults: UserDefaults {
        get throws {
            guard let defaults = UserDefaults(suiteName: name) else { throw UnknownSuite() }
            return defaults
        }
    }

    /// A backend for the domain.
    public func makeBackend() throws -> UserDefaultsBackend {
        guard let backend = UserDefaultsBackend(suiteName: name) else { throw UnknownSuite() }
        return backend
    }
}
