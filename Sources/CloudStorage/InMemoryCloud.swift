public import ObservableStorage

/// A cloud in memory, for tests and previews: each remote behaves like the key-value store of another device of the same user.
///
/// ```swift
/// let cloud = InMemoryCloud()
/// let phone = CloudMirror(phoneStore, keys: .volume, remote: cloud.makeRemote())
/// let tablet = CloudMirror(tabletStore, keys: .volume, remote: cloud.makeRemote())
/// ```
public final class InMemoryCloud: Sendable {
    /// The values, and the notifications of each device.
    private let state: Lock<(values: [String: PropertyListValue], devices: [ChangePublisher<CloudChange>])>

    /// Creates a cloud with some values.
    public init(_ values: [String: PropertyListValue] = [:]) {
        state = Lock((values, []))
    }

    /// The present values.
    public var values: [String: PropertyListValue] { state.withLock { $0.values } }

    /// The cloud as another device sees it.
    public func makeRemote() -> any CloudRemote {
        let changes = ChangePublisher<CloudChange>()
        state.withLock { $0.devices.append(changes) }
        return Remote(cloud: self, changes: changes)
    }

    /// Replaces all values, as the service does, and notifies all devices of the reason.
    public func replaceValues(_ values: [String: PropertyListValue], because change: CloudChange) {
        apply(change) { $0 = values }
    }

    private func apply(
        _ change: CloudChange, except device: ChangePublisher<CloudChange>? = nil, _ edit: (inout [String: PropertyListValue]) -> Void
    ) {
        let (_, devices) = state.take { state in
            let before = state.values
            edit(&state.values)
            return (before, state.devices.filter { $0 !== device })
        }
        for device in devices { device.publish(change) }
    }

    private struct Remote: CloudRemote {
        let cloud: InMemoryCloud
        let changes: ChangePublisher<CloudChange>

        func values() -> [String: PropertyListValue?] { cloud.values }

        func set(_ value: PropertyListValue, forKey name: String) {
            cloud.apply(.serverChange, except: changes) { $0[name] = value }
        }

        func synchronize() {}

        func observe(_ onChange: @escaping @Sendable (CloudChange) -> Void) -> ObservationToken {
            changes.subscribe(onChange)
        }
    }
}
