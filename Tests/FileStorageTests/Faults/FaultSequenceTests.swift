import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Random operations on a store whose calls fail at random; each step checks the permitted contents of the file.
@Suite("Random operations on a failing file", .timeLimit(.minutes(10)))
struct FaultSequenceTests {
    private typealias Entries = [String: PropertyListValue]

    private struct Interrupted: Error {}

    @Test(
        "The file has its old or new content after each step, and its new content after a reported success",
        arguments: visited(0..<(isLong ? 2_000 : UInt64(100))))
    func sequence(seed: UInt64) async throws {
        var dice = Dice(state: seed)
        let file = try FaultyFile(dice.pick(WritingSituation.allCases))
        let store = try file.open()
        let odds: UInt64 = dice.pick([0, 20, 200, 3])
        let final = try await store.isolated { [dice] store in
            var dice = dice
            var disk = file.old
            var pending: [String: PropertyListValue?] = [:]
            for _ in 0..<60 {
                if odds > 0 {
                    let seed = dice.next()
                    file.plan.begin { index, name in
                        var dice = Dice(state: seed &+ UInt64(index))
                        let code = dice.pick(name == "answer to rename" ? [EIO] : [EIO, ENOSPC, EACCES, EINTR])
                        return dice.next() % odds == 0 ? code : nil
                    }
                }
                try await step(store, file, &dice, &disk, &pending)
            }
            return (disk, pending)
        }
        file.plan.end()
        // An unwatched store finds with its next edit what a transaction that has failed has put into the file.
        try await store.update { _ in }
        try await store.close()
        let entries = overlaid(final.0, final.1)
        #expect(try file.stored() == entries)
        #expect(store.entries == entries)
        // The first write of another process removes what this one could not.
        _ = try PropertyListFile(at: URL(fileURLWithPath: file.path)).edit { $0["end"] = true }
        #expect(try file.files() == [file.target])
        #expect(file.plan.openDescriptors.isEmpty)
    }

    private func overlaid(_ entries: Entries, _ edits: [String: PropertyListValue?]) -> Entries {
        edits.reduce(into: entries) { $0[$1.key] = $1.value }
    }

    private func step(
        _ store: isolated ObservableStore, _ file: FaultyFile, _ dice: inout Dice, _ disk: inout Entries,
        _ pending: inout [String: PropertyListValue?]
    ) async throws {
        let key = "key\(dice.next() % 5)"
        let value: PropertyListValue = .integer(PropertyListInteger(Int64(dice.next() % 4)))
        let before = store.entries
        switch dice.next() % 6 {
        case 0, 1:
            store[StorageKey<PropertyListValue?>(key)] = value
            if before[key] != value { pending.updateValue(value, forKey: key) }
        case 2:
            store[StorageKey<PropertyListValue?>(key)] = nil
            if before[key] != nil { pending.updateValue(nil, forKey: key) }
        case 3:
            try await commit(store, file, [:], &disk, &pending) { _ in }
        case 4:
            try await commit(store, file, [key: value], &disk, &pending) { $0[StorageKey<PropertyListValue?>(key)] = value }
        default:
            let old = disk
            try await commit(store, file, [:], &disk, &pending) {
                $0[StorageKey<PropertyListValue?>(key)] = value
                throw Interrupted()
            }
            #expect(disk == old)
        }
    }

    /// Writes pending edits and those of a transaction, and determines the outcome from the file.
    private func commit(
        _ store: isolated ObservableStore, _ file: FaultyFile, _ edits: Entries, _ disk: inout Entries,
        _ pending: inout [String: PropertyListValue?], _ body: @Sendable (inout StoreTransaction) throws -> Void
    ) async throws {
        let new = overlaid(overlaid(disk, pending), edits)
        let before = store.entries
        do {
            _ = try await store.synchronizer.transact(.local, body)
            #expect(try file.stored() == new)
            #expect(store.entries == new)
            (disk, pending) = (new, [:])
        } catch {
            let stored = try file.stored()
            #expect(stored == disk || stored == new)
            // The transaction may only take back an edit that is pending.
            if stored == new, ![disk, overlaid(disk, pending)].contains(new) {
                #expect(!"\(error)".contains("nothing was changed"), "\(error)")
            }
            #expect(store.entries == before)
            disk = stored
        }
        #expect(store.cache.update { $0.entries.pending.mapValues(\.value) } == pending)
    }
}

/// A random generator that repeats with its seed.
private struct Dice: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next() % UInt64(elements.count))]
    }
}
