import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Random operations of three processes and a program that knows of no journal, compared with a dictionary.
@Suite("A journal and its model", .timeLimit(.minutes(10)))
struct JournalModelTests {
    /// The processes and what the entries have to be.
    private struct Session {
        let fixture: JournalFixture
        let format: PropertyListFormat
        var backends: [PropertyListFile]
        var model: [String: PropertyListValue] = ["k0": 0]
        var next: Int64 = 1
        var revision: UInt64 = 0
        /// What the other program has changed since a process looked: a second change of the same entry could not be told from the first.
        var unseen: Set<String> = []
        var trace: [String] = []

        init(format: PropertyListFormat) throws {
            let fixture = try JournalFixture(["k0": 0], format: format)
            (self.fixture, self.format) = (fixture, format)
            backends = (0..<3).map { _ in fixture.backend(.full(keeping: 256)) }
        }

        mutating func step(_ generator: inout SeededGenerator) throws {
            let index = Int.random(in: 0..<3, using: &generator)
            let key = "k\(Int.random(in: 0..<5, using: &generator))"
            next += 1
            let value = PropertyListValue.integer(PropertyListInteger(next))
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<8: try set(value, key, index)
            case 8..<10: try set(nil, key, index)
            case 10..<13:
                trace.append("\(index) checkpoint")
                unseen = []
                try backends[index].checkpoint()
                #expect(try fixture.stored() == model, "\(trace)")
            case 13..<15:
                trace.append("\(index) opens")
                backends[index] = fixture.backend(.full(keeping: 256))
            case 15..<17 where unseen.insert(key).inserted:
                var list = try fixture.stored()
                let isRemoval = Bool.random(using: &generator) && list[key] != nil && list.count > 1
                list[key] = isRemoval ? nil : value
                model[key] = list[key]
                trace.append("other program: \(key) \(isRemoval ? "removed" : "\(next)")")
                try fixture.write(list, format: format, inPlace: Bool.random(using: &generator))
            default:
                trace.append("\(index) loads")
                unseen = []
                let found = try backends[index].load()
                #expect(found.values == model, "\(trace)")
                guard let number = found.revision?.number else { return }
                #expect(number >= revision, "\(trace)")
                revision = number
            }
        }

        private mutating func set(_ value: PropertyListValue?, _ key: String, _ index: Int) throws {
            trace.append("\(index) sets \(key) \(value.map { "\($0)" } ?? "nil")")
            unseen = []
            try backends[index].set([key: value])
            model[key] = value
        }

        mutating func end() throws {
            for backend in backends { #expect(try backend.load().values == model, "\(trace)") }
            #expect(Set(try backends.map { try $0.load().revision }).count == 1)
            #expect(backends.allSatisfy { $0.told.isEmpty })
            try backends[0].checkpoint()
            #expect(try fixture.stored() == model)
        }
    }

    @Test(
        "List, journal and every process agree with the model", arguments: PropertyListFormat.allCases,
        visited(0..<(isLong ? 100 : 4)))
    func agrees(format: PropertyListFormat, seed: Int) throws {
        var generator = SeededGenerator(seed: firstSeed &+ UInt64(seed))
        for _ in 0..<(isLong ? 40 : 5) {
            var session = try Session(format: format)
            for _ in 0..<60 { try session.step(&generator) }
            try session.end()
        }
    }
}
