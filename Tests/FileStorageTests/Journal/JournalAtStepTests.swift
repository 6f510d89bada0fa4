import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A process that is killed makes no further system call: from one call on, each one fails here, except that descriptors are closed, and
/// with them unlocked, as the system does.
@Suite("Processes with a journal killed at each step", .timeLimit(.minutes(10)), .namingSeed)
struct JournalAtStepTests {
    /// What a process does, and what its calls returned.
    private struct Run {
        let fixture: JournalFixture
        var states: [[String: PropertyListValue]] = []
        var returned = 0
        var names: [String] = []

        /// The states that there may be: the last one that returned, and one whose call was under way.
        var possible: ArraySlice<[String: PropertyListValue]> { states[returned...min(returned + 1, states.count - 1)] }
    }

    /// Commits, checkpoints and a replacement of the journal, up to a system call.
    private func run(until step: Int, format: PropertyListFormat = .binary, foreign: Bool = false) throws -> Run {
        var run = Run(fixture: try JournalFixture(["a": 0, "b": 0, "c": 0], format: format))
        let isOn = Lock(false)
        let first = Lock<Int?>(nil)
        let recorder = CallRecorder { index, name in
            guard isOn.withLock({ $0 }), name != "close", name != "unlock" else { return nil }
            let start = first.withLock { first in
                first = first ?? index
                return first ?? index
            }
            return index - start >= step ? EIO : nil
        }
        let backend = run.fixture.backend(.full(keeping: 256), calls: recorder.calls)
        var state: [String: PropertyListValue] = ["a": 0, "b": 0, "c": 0]
        run.states = [state]
        isOn.withLock { $0 = true }
        do {
            for number in 1...4 {
                let value = PropertyListValue.integer(PropertyListInteger(Int64(number)))
                state["a"] = value
                if number == 2 { state["b"] = nil }
                if number == 3 { state["b"] = 7 }
                run.states.append(state)
                try backend.set(["a": value, "b": state["b"]])
                run.returned += 1
                if number.isMultiple(of: 2) { try backend.checkpoint() }
            }
        } catch is StorageError {
            // Killed.
        }
        isOn.withLock { $0 = false }
        run.names = recorder.names
        return run
    }

    @Test("A killed process leaves what it has committed", arguments: PropertyListFormat.allCases)
    func commits(format: PropertyListFormat) throws {
        let all = try run(until: .max, format: format)
        #expect(all.returned == 4)
        #expect(Set(all.names).isSuperset(of: ["writeAt", "readAt", "synchronizeData", "rename", "synchronize"]))
        for step in CallRecorder.visitedCalls(all.names, ifChangingFiles: true) {
            let run = try run(until: step, format: format)
            let next = run.fixture.backend()
            let found = try next.load().values
            #expect(run.possible.contains(found), "step \(step)")
            #expect(next.told.isEmpty, "step \(step)")
            try next.set(["next": true])
            try next.checkpoint()
            #expect(try run.fixture.stored() == found.merging(["next": true]) { $1 }, "step \(step)")
        }
    }

    @Test("A process that is not killed, but can do nothing any more, goes on when it can")
    func recovers() throws {
        for step in try CallRecorder.visitedCalls(run(until: .max).names) {
            let fixture = try JournalFixture(["a": 0])
            let failing = Lock(0..<0)
            let recorder = CallRecorder { index, name in
                failing.withLock { $0.contains(index) } && name != "close" && name != "unlock" ? ENOSPC : nil
            }
            let backend = fixture.backend(.full(keeping: 256), calls: recorder.calls)
            let start = recorder.names.count + step
            failing.withLock { $0 = start..<start + 3 }
            var last = 0
            for number in 1...6 {
                do {
                    try backend.set(["a": .integer(PropertyListInteger(Int64(number)))])
                    last = number
                    if number.isMultiple(of: 2) { try backend.checkpoint() }
                } catch is StorageError {
                    // Told to the caller, who may try again.
                    last = max(last, (try? fixture.backend().load()["a"]?.int) ?? last)
                }
            }
            failing.withLock { $0 = 0..<0 }
            try backend.set(["b": 1])
            #expect(try fixture.backend().load().values == ["a": .integer(PropertyListInteger(Int64(last))), "b": 1], "step \(step)")
            try backend.checkpoint()
            #expect(try fixture.stored() == ["a": .integer(PropertyListInteger(Int64(last))), "b": 1], "step \(step)")
        }
    }

    @Test("Another program that replaces the list after a kill loses nothing of what it has not changed")
    func foreign() throws {
        for step in try CallRecorder.visitedCalls(run(until: .max).names, ifChangingFiles: true) {
            let run = try run(until: step)
            var list = try run.fixture.stored()
            list["other"] = 9
            try run.fixture.write(list)
            let found = try run.fixture.backend().load().values
            #expect(run.possible.map { $0.merging(["other": 9]) { $1 } }.contains(found), "step \(step): \(found)")
        }
    }

    @Test("A copy of the folder, made before any call, has what was committed", arguments: PropertyListFormat.allCases)
    func copies(format: PropertyListFormat) throws {
        let fixture = try JournalFixture(["a": 0, "b": 0], format: format)
        let archive = try TemporaryFolder.inMemory()
        let committed = Lock((last: 0, copies: [(folder: URL, last: Int)]()))
        let recorder = CallRecorder { index, name in
            guard isLong || CallRecorder.changesFiles(name) else { return nil }
            let folder = archive.url.appendingPathComponent("\(index) \(name)")
            do {
                try FileManager.default.copyItem(at: fixture.folder.url, to: folder)
            } catch {
                Issue.record(error)
            }
            committed.withLock { $0.copies.append((folder, $0.last)) }
            return nil
        }
        let backend = fixture.backend(.full(keeping: 256), calls: recorder.calls)
        for number in 1...4 {
            try backend.set(["a": .integer(PropertyListInteger(Int64(number))), "b": .integer(PropertyListInteger(Int64(number * 10)))])
            committed.withLock { $0.last = number }
            if number.isMultiple(of: 2) { try backend.checkpoint() }
        }
        let copies = committed.withLock { $0.copies }
        #expect(copies.count > 50)
        for (folder, last) in copies {
            let copy = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .full())
            let found = try copy.load().values
            let possible: [[String: PropertyListValue]] = (last...min(last + 1, 4)).map {
                ["a": .integer(PropertyListInteger(Int64($0))), "b": .integer(PropertyListInteger(Int64($0 * 10)))]
            }
            #expect(possible.contains(found), "\(folder.lastPathComponent)")
            #expect(copy.told.isEmpty, "\(folder.lastPathComponent)")
        }
    }

    @Test("Bytes of a journal that are changed at random are never a crash, and never a commit that was not made")
    func mutated() throws {
        let fixture = try JournalFixture(["a": 0])
        let backend = fixture.backend()
        var states: Set<[String: PropertyListValue]> = [["a": 0]]
        for number in 1...8 {
            let value = PropertyListValue.integer(PropertyListInteger(Int64(number)))
            states.insert(try backend.set(["a": value, "text": .string(String(repeating: "é", count: number))]).values)
        }
        let bytes = try Data(contentsOf: fixture.journal).prefix(fixture.journalEnd() + 512)
        var generator = SeededGenerator(seed: firstSeed)
        for round in 0..<(isLong ? 300_000 : 3_000) {
            var mutated = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<mutated.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: mutated[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 1: mutated[place] = UInt8.random(in: .min ... .max, using: &generator)
                case 2: mutated = mutated.prefix(max(place, 1))
                default:
                    let length = Int.random(in: 1...64, using: &generator)
                    mutated.replaceSubrange(place..<min(place + length, mutated.count), with: mutated.prefix(length))
                }
            }
            let header = mutated.withUnsafeBytes { JournalHeader($0) }
            guard let header else { continue }
            let records = JournalRecords(Data(mutated.dropFirst(JournalHeader.size)), from: 64, after: header.chain)
            var entries: [String: PropertyListValue] = ["a": 0]
            for case .commit(let commit) in records.records.map(\.record) {
                for (key, edit) in commit.edits { entries[key] = edit.newValue }
            }
            #expect(states.contains(entries), "round \(round)")
        }
    }
}
