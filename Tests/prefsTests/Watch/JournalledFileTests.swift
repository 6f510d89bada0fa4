import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("prefs with a journal", .timeLimit(.minutes(10)))
struct JournalledFileTests {
    private static let journal = JournalMode.full()
    private let folder: TemporaryFolder
    private let file: String
    private let store: ObservableStore

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
        store = try ObservableStore(at: folder.file("settings.plist"), journal: Self.journal)
    }

    private struct Line: Decodable {
        let key: String
        let old: Int?
        let new: Int?
        let storageRevision: String?
        let time: String?
        let writer: String?

        init(_ line: some StringProtocol) throws {
            self = try JSONDecoder().decode(Line.self, from: Data(line.utf8))
        }
    }

    @Test("log prints the commits of this process and of prefs, with time, writer and revision")
    func log() async throws {
        try await store.update { $0[Keys.count] = 1 }
        #expect(try await tool("write", file, "count", "2", "--int").status == 0)
        let result = try await tool("log", file, "count", "--json")
        #expect(result.status == 0)
        let lines = try result.text.split(separator: "\n").map { try Line($0) }
        #expect(lines.map(\.old) == [nil, 1] && lines.map(\.new) == [1, 2])
        #expect(lines.allSatisfy { $0.storageRevision != nil && $0.time.flatMap { Date(iso8601: $0) } != nil && $0.writer != nil })
        #expect(try await tool("log", file).text.contains("count: 1 -> 2"))
    }

    @Test("A script that stops and continues by revision has every change once")
    func resumed() async throws {
        try await store.update { $0[Keys.count] = 1 }
        let first = try await tool("watch", file, "--initial", "--json", "--count", "1")
        let kept = try #require(try Line(first.text.dropLast()).storageRevision)
        for number in 2...4 { try await store.update { $0[Keys.count] = number } }
        let watch = try RunningProgram("prefs", ["watch", file, "--json", "--since", kept])
        let past = try await watch.lines(count: 3).map { try Line($0) }
        #expect(past.map(\.new) == [2, 3, 4] && past.map(\.old) == [1, 2, 3])
        #expect(Set(past.map(\.storageRevision)).count == 3)
        try await store.update { $0[Keys.count] = 5 }
        #expect(try Line(try await watch.lines(count: 4)[3]).new == 5)
        #expect(try await tool("watch", file, "--since", "0-1").status == 4)
    }
}
