import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("What a commit means to those who know earlier entries", .timeLimit(.minutes(10)))
struct PendingCommitTests {
    typealias Values = [String: PropertyListValue]

    /// A row of the table: what is known, found and stored, and what has to be told.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var known: Values
        var knownRevision: UInt64? = nil
        var found: Values
        var foundRevision: UInt64? = nil
        var edits: [String: PendingEdit] = [:]
        /// Whether an earlier commit of unknown outcome has stored the edits.
        var wasStored = false
        var transaction: EntryEdits = [:]
        /// What others have stored together with the commit, or the storage has rounded.
        var storedDifferently: EntryEdits = [:]
        var external: EntryEdits = [:]
        var rounded: EntryEdits = [:]
        /// What the pending edits have become.
        var own: EntryEdits = [:]
    }

    private static func edit(
        _ value: PropertyListValue?, if condition: EntryEdits = [:], at paths: [[String]] = []
    ) -> PendingEdit {
        PendingEdit(value: value, condition: condition, paths: paths, revision: 9)
    }

    private static let cases = [
        Case(
            testDescription: "an edit, and nothing else has changed",
            known: ["a": 1], found: ["a": 1], edits: ["a": edit(2)], own: ["a": 2]),
        Case(
            testDescription: "a removal",
            known: ["a": 1, "b": 1], found: ["a": 1, "b": 1], edits: ["a": edit(nil)], own: ["a": nil]),
        Case(
            testDescription: "another entry was changed by others, and one was removed",
            known: ["a": 1, "b": 1, "c": 1], found: ["a": 1, "b": 5], edits: ["a": edit(2)],
            external: ["b": 5, "c": nil], own: ["a": 2]),
        Case(
            testDescription: "the edited entry was changed by others: the edit is the later one",
            known: ["a": 1], found: ["a": 5], edits: ["a": edit(2)], own: ["a": 2]),
        Case(
            testDescription: "the condition of the edit does not hold any more",
            known: ["a": 1, "old": 1], found: ["a": 5, "old": 1], edits: ["a": edit(2, if: ["a": 1])], external: ["a": 5]),
        Case(
            testDescription: "the condition does not hold, and nothing was stored: the value in memory is undone",
            known: ["old": 1], found: [:], edits: ["a": edit(2, if: ["old": 1])], external: ["a": nil, "old": nil]),
        Case(
            testDescription: "the storage rounds the value",
            known: ["a": 1], found: ["a": 1], edits: ["a": edit(2.5)], storedDifferently: ["a": 2], rounded: ["a": 2], own: ["a": 2]),
        Case(
            testDescription: "others have stored something together with the commit",
            known: ["a": 1], found: ["a": 1], edits: ["a": edit(2)], storedDifferently: ["b": 7], external: ["b": 7], own: ["a": 2]),
        Case(
            testDescription: "a transaction beside an edit",
            known: ["a": 1, "b": 1], found: ["a": 1, "b": 1], edits: ["a": edit(2)], transaction: ["b": 2], own: ["a": 2]),
        Case(
            testDescription: "a transaction over others' changes, which are told first",
            known: ["b": 1], found: ["b": 5], transaction: ["b": 2], external: ["b": 5]),
        Case(
            testDescription: "a transaction that sets the edited entry again",
            known: ["a": 1], found: ["a": 1], edits: ["a": edit(2)], transaction: ["a": 3], own: ["a": 3]),
        Case(
            testDescription: "a transaction that sets an entry whose pending edit was given up",
            known: ["a": 1], found: ["a": 5], edits: ["a": edit(2, if: ["a": 1])], transaction: ["a": 3], external: ["a": 5]),
        Case(
            testDescription: "another value in the dictionary of the edited one was changed by others",
            known: ["d": ["x": 1, "y": 1]], found: ["d": ["x": 1, "y": 5]], edits: ["d": edit(["x": 2, "y": 1], at: [["x"]])],
            external: ["d": ["x": 2, "y": 5]], own: ["d": ["x": 2, "y": 5]]),
        Case(
            testDescription: "an earlier commit of unknown outcome has stored the edit, and others have changed it since",
            known: ["a": 1], found: ["a": 5], edits: ["a": edit(2)], wasStored: true, external: ["a": 5], own: ["a": 5]),
        Case(
            testDescription: "differences were reported that the commit has not found",
            known: ["a": 1, "b": 4], knownRevision: 5, found: ["a": 1, "b": 1], foundRevision: 3, edits: ["a": edit(2)],
            storedDifferently: ["b": 4], own: ["a": 2]),
        Case(
            testDescription: "a reported difference was undone before the commit was stored",
            known: ["a": 1, "b": 4], knownRevision: 5, found: ["a": 1, "b": 1], foundRevision: 3, edits: ["a": edit(2)],
            external: ["b": 1], own: ["a": 2]),
        Case(
            testDescription: "what was reported is newer than what was stored",
            known: ["a": 8, "b": 1], knownRevision: 1_000, found: ["a": 1, "b": 1], foundRevision: 3, edits: ["a": edit(2)],
            external: ["a": 8], own: ["a": 8]),
        Case(
            testDescription: "what was reported is newer than the transaction",
            known: ["a": 8, "b": 1], knownRevision: 1_000, found: ["a": 1, "b": 1], foundRevision: 3, transaction: ["a": 2],
            external: ["a": 8]),
    ]

    @Test("The table of cases", arguments: cases)
    func table(_ row: Case) throws {
        func revision(_ number: UInt64?) -> StorageRevision? { number.map { StorageRevision(history: "one", number: $0) } }
        let known = StorageEntries(row.known, revision: revision(row.knownRevision))
        let found = StorageEntries(row.found, revision: revision(row.foundRevision))
        let cache = EntryCache(entries: [:], executor: DispatchQueueExecutor(label: "PendingCommitTests"))
        let unknownEdits = UnknownEdits()
        if row.wasStored { unknownEdits.insert(row.edits, of: 7) }
        let commit = PendingCommit(row.edits, upTo: 9, of: cache, after: unknownEdits)
        if row.wasStored {
            #expect(commit.options.unknown == [7])
            commit.options.whenResolved?([7: true])
        }
        var entries = found
        var run = commit.begin(on: found)
        try run.apply(to: &entries)
        for (key, value) in row.transaction { entries[key] = value }
        run.transaction = row.transaction
        for (key, value) in row.storedDifferently { entries[key] = value }
        let stored = entries.stored(at: revision(row.foundRevision.map { $0 + 10 }))

        let result = commit.effect(of: run, storedAs: stored, over: known)
        let isOutdated = row.knownRevision ?? 0 > stored.revision?.number ?? 0
        #expect(result.latest.values == (isOutdated ? known : stored).values)
        #expect(result.external == row.external)
        #expect(result.rounded == row.rounded)
        #expect(result.own == row.own)
        #expect(result.transaction == row.transaction.reduce(into: [:]) { $0.updateValue(result.latest[$1.key], forKey: $1.key) })
        // Whoever applies everything in this order has the latest entries.
        var told = row.known
        let inMemory = row.edits.mapValues(\.value)
        for edits in [inMemory, result.external, result.rounded, result.transaction] {
            for (key, value) in edits { told[key] = value }
        }
        if row.edits.values.allSatisfy(\.paths.isEmpty) { #expect(told == result.latest.values) }
    }

    @Test("Each commit with edits is distinguished from all others")
    func identities() {
        let cache = EntryCache(entries: [:], executor: DispatchQueueExecutor(label: "PendingCommitTests"))
        func identity(of edits: [String: PendingEdit]) -> UInt64? {
            PendingCommit(edits, upTo: 9, of: cache, after: UnknownEdits()).options.identity
        }
        #expect(Set((1...3).compactMap { _ in identity(of: ["a": Self.edit(1)]) }).count == 3)
        #expect(identity(of: [:]) == nil)
    }

    @Test("Edits that were made together are given up together")
    func group() {
        let edits = [
            "a": Self.edit(1), "b": Self.edit(2),
            "new": PendingEdit(value: 1, condition: [:], revision: 3),
            "old": PendingEdit(value: nil, condition: [:], principal: "new", revision: 2),
            "beside": PendingEdit(value: 1, condition: [:], revision: 3),
            "other": PendingEdit(value: 1, condition: [:], revision: 4),
        ]
        func refused(_ key: String) -> Set<String>? {
            edits.refused(edits, because: .unencodable(key: key, reason: "odd")).map { Set($0.edits.keys) }
        }
        #expect(refused("a") == ["a", "b"])
        for key in ["new", "beside", "old"] { #expect(refused(key)?.subtracting(["a", "b"]) == ["new", "old", "beside"]) }
        #expect(refused("other") == ["other"])
        #expect(refused("none") == nil)
        // Another step of the same commit removes the earlier name.
        let step = edits.filter { $0.value.revision == 3 }
        let large = edits.refused(step, because: .tooLarge(key: nil, reason: "odd"))
        #expect(large.map { Set($0.edits.keys) } == ["new", "old", "beside"])
        #expect(large?.error == .tooLarge(key: nil, reason: "beside, new: odd"))
    }
}
