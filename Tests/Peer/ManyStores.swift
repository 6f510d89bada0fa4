import Foundation
import ObservableStorage
import PropertyListCoding

/// Many stores in one process: their open descriptors, and those left afterwards.
struct ManyStores {
    let folder: String
    let count: Int

    /// Prints how many descriptors the stores added, how many of all are inotify instances, how many stores observed a change, and
    /// how many of their descriptors are left at the end.
    func run() async throws {
        let key = StorageKey("count", default: 0)
        // The descriptors of Foundation and Dispatch are open after the first store. A store watches its file once it is observed.
        let first = try ObservableStore(at: file(count))
        var tokens = [first.addUpdateListener(for: key) { _ in }]
        try await first.update { $0[key] = 1 }
        try await first.close()
        let before = try descriptors()
        let stores = try (0..<count).map { try ObservableStore(at: file($0)) }
        tokens += stores.map { $0.addUpdateListener(for: key) { _ in } }
        // To begin to watch a list, and then its journal, takes three turns on the queue of a store, each of which requests the next. The last
        // one opens the folders of the path for a moment.
        for _ in 1...3 {
            for store in stores { try await store.flush() }
        }
        let during = try descriptors()
        for number in 0..<count { _ = try PropertyListFile(at: file(number)).edit { $0["count"] = 5 } }
        var heard = 0
        for store in stores {
            for await count in store.values(of: key) where count == 5 { break }
            heard += 1
        }
        tokens = []
        for store in stores { try await store.close() }
        let after = try descriptors()
        let instances = during.count { $0.contains("inotify") }
        try Peer.say("added \(added(to: before, in: during)), inotify \(instances), heard \(heard), left \(added(to: before, in: after))")
    }

    private func added(to before: [String], in now: [String]) -> [String] {
        var added = now.sorted()
        for descriptor in before { added.firstIndex(of: descriptor).map { _ = added.remove(at: $0) } }
        return added
    }

    private func file(_ number: Int) -> URL {
        URL(fileURLWithPath: "\(folder)/\(number)/settings.plist")
    }

    /// The target of each open descriptor; one is for the list itself.
    private func descriptors() throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { number in
            do { return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)") } catch { return "the list" }
        }
        // Dispatch opens one of its own with the first delayed execution.
        return descriptors.filter { $0 != "anon_inode:[timerfd]" }
    }
}
