public import Configuration
import Foundation
public import ObservableStorage
public import ServiceLifecycle

/// The values of a store for readers of swift-configuration.
///
/// A key of several components is an entry whose name has them with slashes, as a group of keys with a prefix has, or else a value inside
/// dictionaries: `server.port` is `server/port`, or `port` in the dictionary `server`.
public struct StoreProvider: ConfigProvider {
    private let store: ObservableStore
    private let isSecret: @Sendable (_ key: String) -> Bool
    /// The name in reports about accesses.
    public let providerName: String

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - store: the store; the provider neither flushes nor closes it, unless it is run as a service.
    ///   - name: the name in reports about accesses.
    ///   - isSecret: whether the value of a key must not be logged, by the key's components with dots between them.
    public init(
        _ store: ObservableStore, name: String = "ObservableStore", isSecret: @escaping @Sendable (_ key: String) -> Bool = { _ in false }
    ) {
        (self.store, self.isSecret, providerName) = (store, isSecret, name)
    }

    /// The present value, from memory.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        try snapshot().value(forKey: key, type: type)
    }

    /// The present value, after the storage could be read.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        // The store observes its storage, and has every change in memory as soon as it is there.
        for await availability in store.availabilityUpdates where availability == .available { break }
        return try value(forKey: key, type: type)
    }

    /// The present value, and each newer one.
    public func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey, type: ConfigType,
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
    ) async throws -> Return {
        let entry = EntryKey(key)
        let values = store.values(of: entry.flat, entry.nested).map { [isSecret] flat, nested in
            Result { try entry.result(flat ?? nested, type, isSecret) }
        }
        return try await updatesHandler(ConfigUpdatesAsyncSequence(values))
    }

    /// The values at the present revision of the store.
    public func snapshot() -> any ConfigSnapshot {
        StoreProviderSnapshot(providerName: providerName, values: store.snapshot, isSecret: isSecret)
    }

    /// The values at the present revision, and at the newest one after each change.
    public func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
        // Subscribed before the first snapshot is taken, so that no change is missed.
        let changes = store.allChanges(bufferingPolicy: .bufferingNewest(1))
        return try await updatesHandler(ConfigUpdatesAsyncSequence(SnapshotUpdates(changes: changes, snapshot: snapshot)))
    }
}

extension StoreProvider: Service {
    /// Runs until the service group shuts down, and then writes the pending edits and closes the store.
    public func run() async throws {
        try await cancelWhenGracefulShutdown { try await store.run() }
    }
}

/// The values of a store at one revision.
private struct StoreProviderSnapshot: ConfigSnapshot {
    let providerName: String
    let values: StoreSnapshot
    let isSecret: @Sendable (_ key: String) -> Bool

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let entry = EntryKey(key)
        return try entry.result(values[entry.flat] ?? values[entry.nested], type, isSecret)
    }
}

/// The present snapshot, and one after each change.
private struct SnapshotUpdates: AsyncSequence {
    let changes: AsyncStream<Change<PropertyListValue?>>
    let snapshot: @Sendable () -> any ConfigSnapshot

    struct AsyncIterator: AsyncIteratorProtocol {
        var changes: AsyncStream<Change<PropertyListValue?>>.AsyncIterator
        let snapshot: @Sendable () -> any ConfigSnapshot
        var isFirst = true

        mutating func next(isolation actor: isolated (any Actor)?) async -> (any ConfigSnapshot)? {
            guard !isFirst else {
                isFirst = false
                return snapshot()
            }
            return await changes.next(isolation: actor) == nil ? nil : snapshot()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(changes: changes.makeAsyncIterator(), snapshot: snapshot)
    }
}

/// Where the value of a configuration's key may be stored.
private struct EntryKey: Sendable {
    /// The components, as people write them.
    let name: String
    /// The entry of a group of keys with a prefix.
    let flat: StorageKey<PropertyListValue?>
    /// A value inside dictionaries.
    let nested: StorageKey<PropertyListValue?>

    init(_ key: AbsoluteConfigKey) {
        let path = key.components
        name = path.joined(separator: ".")
        flat = StorageKey(path.joined(separator: "/"))
        nested =
            switch path.count {
            case 2: StorageKey(path[0], path[1])
            case 3: StorageKey(path[0], path[1], path[2])
            case 4: StorageKey(path[0], path[1], path[2], path[3])
            // Deeper ones have only the name with slashes.
            default: flat
            }
    }

    func result(_ stored: PropertyListValue?, _ type: ConfigType, _ isSecret: (String) -> Bool) throws -> LookupResult {
        guard let stored else { return LookupResult(encodedKey: flat.name, value: nil) }
        do {
            return LookupResult(encodedKey: flat.name, value: ConfigValue(try stored.content(as: type), isSecret: isSecret(name)))
        } catch {
            throw StoreProviderError(key: name, type: type, stored: stored.typeName)
        }
    }
}

/// A stored value is of another type than the requested one. The error does not have the value, which may be a secret.
public struct StoreProviderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The components of the key, with dots between them.
    public let key: String
    /// The requested type.
    public let type: ConfigType
    /// The stored type.
    public let stored: String

    /// The key and both types.
    public var description: String { "key \"\(key)\": expected \(type.rawValue), found \(stored)" }
}

extension PropertyListValue {
    fileprivate func content(as type: ConfigType) throws -> ConfigContent {
        switch type {
        case .string: .string(try String(propertyListValue: self))
        case .int: .int(try Int(propertyListValue: self))
        case .double: .double(try Double(propertyListValue: self))
        case .bool: .bool(try Bool(propertyListValue: self))
        case .bytes: .bytes([UInt8](try Data(propertyListValue: self)))
        case .stringArray: .stringArray(try [String](propertyListValue: self))
        case .intArray: .intArray(try [Int](propertyListValue: self))
        case .doubleArray: .doubleArray(try [Double](propertyListValue: self))
        case .boolArray: .boolArray(try [Bool](propertyListValue: self))
        case .byteChunkArray: .byteChunkArray(try [Data](propertyListValue: self).map { [UInt8]($0) })
        }
    }
}
