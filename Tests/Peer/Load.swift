import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Runs a load on a store in a separate process, where memory can be measured, and prints results as `name=number`.
struct Load {
    struct Unknown: Error {}

    let count: Int
    let path: String

    private let number = StorageKey("number", default: 0)

    func run(_ what: String) async throws {
        let start = ContinuousClock.now
        switch what {
        case "writes": try await write()
        case "keys": try await setKeys()
        case "value": try await storeValue()
        case "encodings": try encode()
        case "list": try await editList()
        case "subscribers": try await subscribe()
        case "streams": try await openAndDrop()
        case "transactions": try await add()
        default: throw Unknown()
        }
        tell("milliseconds", Int((ContinuousClock.now - start) / .milliseconds(1)))
        tell("peak", peakMemory)
    }

    private func tell(_ name: String, _ figure: Int) {
        FileHandle.standardOutput.write(Data("\(name)=\(figure)\n".utf8))
    }

    /// Writes one key the given number of times, with a listener, and a reader that never reads.
    private func write() async throws {
        // What the storage remembers is no part of what the store needs.
        let backend = UnreliableBackend(InMemoryBackend(rememberedCommits: 0))
        let store = try ObservableStore(backend: backend)
        let heard = Lock(0)
        let token = store.addUpdateListener(for: number) { _ in heard.withLock { $0 += 1 } }
        let values = store.values(of: number)
        for value in 1...1_000 { try store.set(value, for: number) }
        try await store.flush()
        let before = heapUse
        for value in 1_001...(1_000 + count) { try store.set(value, for: number) }
        tell("growthBeforeFlush", heapUse - before)
        try await store.flush()
        tell("growth", heapUse - before)
        tell("edits", backend.edits)
        tell("heard", heard.withLock { $0 })
        try await store.close()
        for await value in values { tell("last", value) }
        withExtendedLifetime(token) {}
    }

    /// Sets the given number of keys, one by one, and opens the file again.
    private func setKeys() async throws {
        let before = heapUse
        let file = URL(fileURLWithPath: path)
        let store = try ObservableStore(at: file)
        for index in 0..<count { try store.set(index, for: StorageKey("key.\(index)", default: 0)) }
        try await store.flush()
        tell("growth", heapUse - before)
        tell("file", try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        // With one more key, the whole file is written again.
        let again = ContinuousClock.now
        try store.set(-1, for: number)
        try await store.flush()
        tell("oneMoreInMicroseconds", Int((ContinuousClock.now - again) / .microseconds(1)))
        let opening = ContinuousClock.now
        let other = try ObservableStore(at: file)
        tell("openedInMilliseconds", Int((ContinuousClock.now - opening) / .milliseconds(1)))
        tell("read", other.entries.count)
        try await store.close()
    }

    /// Stores one value of the given size, twice, and opens the file again.
    private func storeValue() async throws {
        let file = URL(fileURLWithPath: path)
        let data = StorageKey("data", default: Data())
        let store = try ObservableStore(at: file)
        try store.set(Data(repeating: 1, count: count), for: data)
        try await store.flush()
        try store.set(Data(repeating: 2, count: count), for: data)
        try await store.flush()
        tell("file", try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        try await store.close()
        tell("held", heapUse)
        tell("read", try ObservableStore(at: file)[data].count)
    }

    /// Encodes a list of about the given size on one thread after the other, all of which go on living, as those of a pool do.
    private func encode() throws {
        let text = String(repeating: "x", count: 480)
        let entries = (0..<count / 500).map { ("key.\($0)", PropertyListValue.string(text + String($0))) }
        let list = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: entries))
        tell("file", try list.encoded(as: .binary).count)
        let (before, isOver) = (residentMemory, DispatchSemaphore(value: 0))
        for _ in 0..<4 {
            let isEncoded = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                for _ in 0..<2 { _ = Result { try list.encoded(as: .binary) } }
                isEncoded.signal()
                isOver.wait()
            }
            isEncoded.wait()
        }
        tell("growth", residentMemory - before)
    }

    /// Edits every entry of a list of about the given size, twice, and releases the store.
    private func editList() async throws {
        let before = residentMemory
        try await editEntries()
        // Memory is returned to the system some time after it was freed.
        for _ in 0..<600 where residentMemory - before >= count * 3 / 2 { usleep(100_000) }
        tell("left", residentMemory - before)
    }

    private func editEntries() async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        for text in ["x", "y"].map({ String(repeating: $0, count: 480) }) {
            for index in 0..<count / 500 { try store.set(text + String(index), for: StorageKey("key.\(index)", default: "")) }
            try await store.flush()
        }
        tell("file", try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        tell("held", residentMemory)
    }

    /// Adds the given number of listeners and readers of one key, and releases them.
    private func subscribe() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let heard = Lock(0)
        try store.set(1, for: number)
        try await store.flush()
        let before = heapUse
        var tokens: [ObservationToken] = []
        var streams: [AsyncStream<Int>] = []
        for _ in 0..<count {
            tokens.append(store.addUpdateListener(for: number) { _ in heard.withLock { $0 += 1 } })
            streams.append(store.values(of: number))
        }
        tell("held", heapUse - before)
        for value in 2...11 { try store.set(value, for: number) }
        try await store.flush()
        tell("heard", heard.withLock { $0 })
        tell("heldAfterTelling", heapUse - before)
        // From the start, from the end, and then the rest.
        for index in 0..<count / 3 { tokens[index].cancel() }
        for index in (count - count / 3..<count).reversed() { tokens[index].cancel() }
        (tokens, streams) = ([], [])
        try store.set(12, for: number)
        try await store.flush()
        tell("left", heapUse - before)
    }

    /// Creates streams of every kind and releases them, the given number of times.
    private func openAndDrop() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        try await openAndDrop(store, times: 200)
        let before = heapUse
        try await openAndDrop(store, times: count)
        tell("growth", heapUse - before)
    }

    private func openAndDrop(_ store: ObservableStore, times: Int) async throws {
        for round in 0..<times {
            // Other keys each time: the state of an observed key must be released, too.
            let key = StorageKey("key.\(round % 2 == 0 ? round : 0)", default: 0)
            let (values, changes, all, failures) = (store.values(of: key), store.changes(of: key), store.allChanges(), store.failures)
            let token = store.addUpdateListener(for: key, initial: true) { _ in }
            let queued = store.addUpdateListener(for: key, on: .global()) { _ in }
            if round % 3 == 0 { for await _ in values { break } }
            if round % 3 == 1 {
                let reader = Task { for await _ in changes {} }
                reader.cancel()
                await reader.value
            }
            token.cancel()
            _ = (all, failures, queued)
        }
        store[number] += 1
        try await store.flush()
    }

    /// Adds one to a number the given number of times, concurrently with other processes.
    private func add() async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(120) })
        for _ in 0..<count { try await store.update { $0[number] += 1 } }
        try await store.close()
    }
}
