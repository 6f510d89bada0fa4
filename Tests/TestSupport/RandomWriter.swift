public import ObservableStorage
public import PropertyListCoding

/// Makes random writes to a store, determined by a seed, and records them.
public struct RandomWriter: Sendable {
    /// Keys that all writers set, change and remove one by one.
    public static let keys = ["a", "b", "c", "d"]
    /// Keys that writers set in transactions only, all of them each time.
    public static let group = ["x", "y", "z"]

    /// A transaction observed a part of another one.
    public struct TornGroup: Error {
        /// The observed values.
        public let values: [PropertyListValue?]
    }

    /// The prefix of its marks.
    public let name: String
    /// Its writes.
    public private(set) var writes: [History.Write] = []
    private let store: ObservableStore
    private let toleratesFailures: Bool
    private var generator: SeededGenerator
    private var number = 0

    /// Creates a writer.
    ///
    /// - Parameter toleratesFailures: whether it goes on when the storage fails, which makes writes unconfirmed or undone.
    public init(_ name: String, seed: UInt64, store: ObservableStore, toleratesFailures: Bool = false) {
        self.name = name
        self.store = store
        self.toleratesFailures = toleratesFailures
        generator = SeededGenerator(seed: name.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
    }

    /// Writes the given number of times.
    public mutating func run(steps: Int) async throws {
        for _ in 0..<steps { try await step() }
    }

    /// Writes until the store is closed.
    public mutating func runUntilClosed() async throws {
        do {
            while true { try await step() }
        } catch StorageError.closed {
            return
        }
    }

    /// Makes a write, or another operation of a writer.
    private mutating func step() async throws {
        let key = Self.keys[Int.random(in: 0..<Self.keys.count, using: &generator)]
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<10:
            let mark = nextMark()
            try store.set(mark.value, for: StorageKey<PropertyListValue?>(key))
            writes.append(History.Write(mark: mark, keys: [key]))
        case 10..<13:
            let mark = nextMark()
            try store.stored(StorageKey<PropertyListValue?>(key)).modify { $0 = mark.value }
            writes.append(History.Write(mark: mark, keys: [key]))
        case 13..<15: store.remove(StorageKey<PropertyListValue?>(key))
        case 15: try await flush()
        case 16: await Task.yield()
        default: _ = try await writeGroup()
        }
    }

    private func flush() async throws {
        do {
            try await store.flush()
        } catch {
            // The edits are kept, and tried again.
            guard toleratesFailures, error != .closed else { throw error }
        }
    }

    /// Writes all keys of the group in a transaction; returns its mark if it was stored, nil after a tolerated failure.
    public mutating func writeGroup() async throws -> History.Mark? {
        let mark = nextMark()
        do {
            try await store.update { transaction in
                let values = Self.group.map { transaction[StorageKey<PropertyListValue?>($0)] }
                guard values.allSatisfy({ $0 == values[0] }) else { throw TornGroup(values: values) }
                for key in Self.group { transaction[StorageKey<PropertyListValue?>(key)] = mark.value }
            }
        } catch let error as StorageError where toleratesFailures && error != .closed {
            if case .outcomeUnknown = error { writes.append(History.Write(mark: mark, keys: Self.group, isConfirmed: false)) }
            return nil
        }
        writes.append(History.Write(mark: mark, keys: Self.group))
        return mark
    }

    /// The writes since the last call, which are forgotten.
    public mutating func takeWrites() -> [History.Write] {
        defer { writes = [] }
        return writes
    }

    private mutating func nextMark() -> History.Mark {
        number += 1
        return History.Mark(name, number)
    }
}
