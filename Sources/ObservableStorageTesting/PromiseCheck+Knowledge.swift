import FoundationSubset
import ObservableStorage

// What a backend may also provide.
extension PromiseCheck {
    private static let edits: [@Sendable (inout StorageEntries) throws -> Void] = [
        { ($0["a"], $0["b"]) = (1, "text") }, { $0["a"] = ["list"] }, { ($0["b"], $0["c"]) = (nil, true) }, { $0["a"] = nil },
    ]

    func revisions() async throws {
        let backend = try await open()
        guard var last = try await backend.load().revision else { return }
        for (writer, number) in [(backend, 1), (try await open(), 2), (backend, 3)] {
            let stored = try await writer.edit { $0.add(1, to: "count") }.revision
            guard let stored, stored.isNewer(than: last) else {
                return try require(false, "edit \(number) has the revision \(stored as Any), after \(last)")
            }
            let unchanged = try await backend.edit { $0.add(0, to: "count") }.revision
            // A server also counts the edits of others, in other places.
            let isKept = unchanged?.history == stored.history && unchanged.map(stored.isNewer) == false
            try require(isKept, "an edit that changes nothing has the revision \(unchanged as Any), after \(stored)")
            let loaded = try await open().load().revision
            let isRead = loaded?.history == stored.history && loaded.map(stored.isNewer) == false
            try require(isRead, "another process reads the revision \(loaded as Any), after \(stored)")
            last = stored
        }
    }

    func differences() async throws {
        let (backend, other) = (try await open(), try await open())
        // The history of a storage may begin with the first edit.
        _ = try await other.edit { $0["a"] = 0 }
        let start = try await backend.load()
        guard var revision = start.revision else { return }
        let watch = EventRecord(of: backend, since: revision)
        var (known, last) = (start.values, revision)
        // A report of the start, after which everything is read, is none of the edits.
        for edit in Self.edits {
            last = try await other.edit(edit).revision ?? last
            try require(last.history == revision.history, "the revision \(last) is of another history than \(revision)")
            while last.isNewer(than: revision) {
                switch try await next(in: watch, "the revision \(last)", where: { $0.isChange }) {
                case .differences(let changes) where !changes.revision.isNewer(than: revision): break
                case .differences(let changes) where !changes.since.isNewer(than: revision):
                    for (key, value) in changes.values { known[key] = value }
                    revision = changes.revision
                case .changed:
                    let entries = try await backend.load()
                    (known, revision) = (entries.values, entries.revision ?? revision)
                case let event: try require(false, "\(event) was reported after \(revision)")
                }
            }
            try await requireStored(known, after: "the reported differences lead to other entries")
        }
    }

    func commits() async throws {
        let backend = try await open()
        let start = try await backend.edit { $0["a"] = 0 }
        guard let revision = start.revision, try await backend.commits(since: revision) != nil else { return }
        for edit in Self.edits { _ = try await backend.edit(edit) }
        var (values, last) = (start.values, revision)
        for commit in try await open().commits(since: revision) ?? [] {
            try require(commit.revision.isNewer(than: last), "the commit \(commit.revision) comes after \(last)")
            for (key, edit) in commit.edits {
                try require(edit.oldValue == values[key], "the commit \(commit.revision) has another value of \"\(key)\" before it")
                values[key] = edit.newValue
            }
            last = commit.revision
        }
        try await requireStored(values, after: "the commits lead to other entries")
        try require(try await backend.commits(since: last) == [], "there are commits after the last one")
    }

    func reads() async throws {
        let stored = try await concurrently(0..<3, 0..<10) { backend, writer, number in
            _ = try await backend.edit { entries in
                entries.readKeys = ["count"]
                entries.add(1, to: "count")
            }
            _ = try await backend.edit { entries in
                entries.readKeys = []
                entries["last \(writer)"] = .integer(PropertyListInteger(Int64(number)))
            }
        }
        try require(stored.count("count") == 30, "of 30 edits that add 1 to what they have read, \(stored.count("count")) are stored")
        for writer in 0..<3 {
            try require(stored.count("last \(writer)") == 9, "the last of the edits that have read nothing is lost")
        }
        try await readsOfOthers()
    }

    /// Requires that of two entries one is set, as each edit that sets one has read that the other is not.
    private func readsOfOthers() async throws {
        let backend = try await open()
        for _ in 0..<20 {
            _ = try await backend.edit { ($0["left"], $0["right"]) = (0, 0) }
            let stored = try await concurrently(0..<2, 0..<1) { backend, writer, _ in
                let (own, other) = writer == 0 ? ("left", "right") : ("right", "left")
                _ = try await backend.edit { entries in
                    entries.readKeys = [other]
                    if entries.count(other) == 0 { entries[own] = 1 }
                }
            }
            let isSkewed = stored.count("left") + stored.count("right") != 1
            try require(!isSkewed, "an edit was stored although another one had changed what it has read")
        }
    }

    func limits() async throws {
        let backend = try await open()
        let limits = backend.limits
        // In a binary property list, a Boolean has 42 bytes; its name has up to three.
        let count = min(limits.operations ?? 1_000, (limits.commitSize ?? .max) / 45, 1_000)
        var expected = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", true as PropertyListValue) })
        _ = try await backend.edit { [expected] in for (name, value) in expected { $0[name] = value } }
        try await requireStored(expected, after: "\(count) entries were set in one edit")
        // The rest is for the name, and for what a binary property list has besides the data.
        let size = min(limits.valueSize ?? 1 << 20, limits.commitSize ?? 1 << 20, 1 << 20) - 100
        let value = try backend.storable(.string(String(repeating: "7", count: max(0, size))), for: "large")
        expected["large"] = value
        _ = try await backend.edit { $0["large"] = value }
        try await requireStored(expected, after: "a value of \(size) bytes was set")
    }

    func reachability() async throws {
        let backend = try await open()
        let watch = EventRecord(of: backend, since: nil)
        _ = try await backend.edit { $0["count"] = 1 }
        try await next(in: watch, "the edit") { $0.isChange }
        try require(watch.isReachable, "the storage can be reached, and is reported as unreachable")
        guard let interrupt else { return }
        try await interrupt(true)
        let result: StorageEntries?
        do { result = try await backend.edit { $0["count"] = 2 } } catch { result = nil }
        try await interrupt(false)
        try require(result == nil, "an edit of an unreachable storage has returned")
        try await next(in: watch, "that the storage can be reached again") { $0 == .reachable(true) }
        try await requireStored(["count": 1], after: "an edit of an unreachable storage has thrown an error")
        _ = try await backend.edit { $0["count"] = 3 }
        try await requireStored(["count": 3], after: "an edit of a storage that can be reached again has returned")
    }
}
