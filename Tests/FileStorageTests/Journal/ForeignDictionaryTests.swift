import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// What becomes of edits inside a dictionary that is in the list, when programs change the list that know of no journal.
@Suite("Foreign writers of a dictionary beside a journal", .timeLimit(.minutes(10)))
struct ForeignDictionaryTests {
    private let name = StorageKey("server", "name", default: "")
    private let port = StorageKey("server", "port", default: 0)
    private let level = StorageKey<Int?>("server", "log", "level")
    private let whole = StorageKey<PropertyListValue?>("server")

    /// A store that writes no list before it is flushed.
    private func open(_ fixture: JournalFixture) throws -> ObservableStore {
        try ObservableStore(backend: fixture.backend(.full(quiet: .seconds(1_000), atMost: .seconds(1_000))))
    }

    @Test(
        "Values that another program has changed in a dictionary are kept, and so are those beside it that were edited with a journal",
        arguments: [false, true], PropertyListFormat.allCases)
    func beside(isKnown: Bool, format: PropertyListFormat) async throws {
        let fixture = try JournalFixture(["server": ["name": "old", "port": 1, "log": ["path": "a"]]], format: format)
        let store = try open(fixture)
        try store.set("newer", for: name)
        try await store.flush(to: .journal)
        try store.set("new", for: name)
        try store.set(3, for: level)
        try await store.flush(to: .journal)
        // Twice: what remains over the first one is not in a list of this library yet.
        for value in [2, 3] as [PropertyListValue] {
            try fixture.write(["server": ["name": "old", "port": value, "log": ["path": "b"]]], format: format)
            let expected: [String: PropertyListValue] = ["server": ["name": "new", "port": value, "log": ["path": "b", "level": 3]]]
            if isKnown { #expect(try await store.update { $0.entries } == expected) }
            #expect(try fixture.backend().load().values == expected)
        }
        try await store.close()
        #expect(try fixture.stored() == ["server": ["name": "new", "port": 3, "log": ["path": "b", "level": 3]]])
    }

    @Test("Records of a journal read back with the paths of the edited values")
    func records() throws {
        let edits: [String: StorageCommit.Edit] = [
            "whole": StorageCommit.Edit(from: 1, to: 2),
            "server": StorageCommit.Edit(from: nil, to: ["name": "new", "log": ["level": 1]], at: [["name"], ["log", "level"]]),
            "removed": StorageCommit.Edit(from: ["a": 1], to: nil, at: [["a"]]),
        ]
        let list = JournaledList(checksum: 1, revision: 2, format: .binary, overrides: edits)
        var (bytes, written) = (Data(), JournalRecords(from: 64, after: 7))
        try written.append(.commit(JournalCommit(revision: 1, edits: edits, writer: "a")), to: &bytes)
        try written.append(.list(list), to: &bytes)
        let read = JournalRecords(bytes, from: 64, after: 7)
        #expect(read.records.map(\.record) == written.records.map(\.record))
        #expect(read.records.count == 2 && !read.hasRemainder)
    }

    /// Edits by one store, what another program writes then, and what both make of it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let edit: @Sendable (ForeignDictionaryTests, ObservableStore) throws -> Void
        let written: PropertyListValue?
        let expected: PropertyListValue?
    }

    static let cases = [
        Case(
            testDescription: "the same value", edit: { try $1.set(5, for: $0.port) }, written: ["name": "other", "port": 2],
            expected: ["name": "other", "port": 2]),
        Case(
            testDescription: "all of the dictionary", edit: { try $1.set(["name": "new", "port": 1], for: $0.whole) },
            written: ["name": "old", "port": 2], expected: ["name": "old", "port": 2]),
        Case(
            testDescription: "a value, and then all of the dictionary",
            edit: { tests, store in
                try store.set("new", for: tests.name)
                try store.set(["name": "newer", "port": 1], for: tests.whole)
            }, written: ["name": "old", "port": 2], expected: ["name": "old", "port": 2]),
        Case(
            testDescription: "a value of what is no dictionary any more", edit: { try $1.set("new", for: $0.name) }, written: "text",
            expected: "text"),
        Case(
            testDescription: "a value of what was removed", edit: { try $1.set("new", for: $0.name) }, written: nil, expected: nil),
        Case(
            testDescription: "a value that is removed", edit: { $1.remove($0.port) }, written: ["name": "other", "port": 1],
            expected: ["name": "other"]),
        Case(
            testDescription: "a value inside a new dictionary", edit: { try $1.set(1, for: $0.level) }, written: ["name": "other"],
            expected: ["name": "other", "log": ["level": 1]]),
    ]

    @Test("What was edited in both counts as the other program has it", arguments: cases, [false, true])
    func both(_ edited: Case, areCommitsSeveral: Bool) async throws {
        let fixture = try JournalFixture(["server": ["name": "old", "port": 1], "other": 1])
        let store = try open(fixture)
        if areCommitsSeveral {
            try store.set(0, for: port)
            try await store.flush(to: .journal)
            try store.set(1, for: port)
            try await store.flush(to: .journal)
        }
        try edited.edit(self, store)
        try await store.flush(to: .journal)
        var entries: [String: PropertyListValue] = ["other": 2]
        entries["server"] = edited.written
        try fixture.write(entries)
        entries["server"] = edited.expected
        #expect(try fixture.backend().load().values == entries)
        try await store.close()
        #expect(try fixture.stored() == entries)
    }
}
