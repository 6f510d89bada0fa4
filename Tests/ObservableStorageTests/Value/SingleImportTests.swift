import Foundation
import ObservableStorage
import Testing

// This file does not import PropertyListCoding: whoever uses the library need not know it.

private struct Server: Storable, Equatable {
    var host: String
    var port: Int

    init(host: String, port: Int) {
        (self.host, self.port) = (host, port)
    }

    init(propertyListValue: PropertyListValue) throws {
        guard let host = propertyListValue["host"]?.string, let port = propertyListValue["port"]?.int else {
            throw CocoaError(.coderInvalidValue)
        }
        self.init(host: host, port: port)
    }

    var propertyListValue: PropertyListValue {
        ["host": .string(host), "port": .integer(PropertyListInteger(Int64(port)))]
    }
}

private final class SingleValueBackend: BlockingStorageBackend {
    let name = "one value"
    private let stored = InMemoryBackend(["value": ["entries": [:]]])

    func load() throws -> StorageEntries {
        StorageEntries(stored.load()["value"]?["entries"]?.dictionary ?? [:])
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        _ = try stored.edit { outer in
            var entries = StorageEntries(outer["value"]?["entries"]?.dictionary ?? [:])
            try body(&entries)
            if !entries.editedKeys.isEmpty { outer["value"]?["entries"] = .dictionary(entries.values) }
        }
        return try load()
    }

    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        if case .uid = value { throw .unencodable(key: key, reason: "there are no archives here") }
        do {
            try value.validate()
        } catch {
            throw .unencodable(key: key, reason: error.reason)
        }
        return value.rounded(for: .xml)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        stored.watch(since: revision, on: queue, report)
    }
}

extension StorageCodec<Duration> {
    fileprivate static var milliseconds: StorageCodec {
        .custom(
            encode: { .integer(PropertyListInteger($0.components.seconds * 1_000)) },
            decode: { stored in
                guard case .integer(let integer) = stored, let number: Int64 = integer.value() else {
                    throw PropertyListError(offset: nil, reason: "found \(stored.typeName) \(stored)")
                }
                return .milliseconds(number)
            })
    }
}

@Suite("One import", .timeLimit(.minutes(10)))
struct SingleImportTests {
    @Test("Values, backends and codecs are written with one import")
    func oneImport() async throws {
        let backend = SingleValueBackend()
        let store = try ObservableStore(backend: backend)
        let server = StorageKey("server", default: Server(host: "localhost", port: 80))
        let timeout = StorageKey("timeout", codec: .milliseconds, default: .seconds(1))
        let raw = StorageKey<PropertyListValue>("raw", default: [:])
        store[server] = Server(host: "example.org", port: 443)
        store[timeout] = .seconds(30)
        store[raw] = ["list": [1, 2.5, true, "text"]]
        store[raw]["list"]?[0] = nil
        try await store.flush()
        #expect(
            try backend.load().values
                == ["server": ["host": "example.org", "port": 443], "timeout": 30_000, "raw": ["list": [2.5, true, "text"]]])
        let other = try ObservableStore(backend: backend)
        #expect(other[server] == Server(host: "example.org", port: 443))
        #expect(other[timeout] == .seconds(30))
        #expect(try PropertyListValue.decode(other[raw].encoded(as: .binary)).value == other[raw])
    }
}
