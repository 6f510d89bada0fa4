import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

/// What the codec `.propertyList` encodes and decodes, beside Foundation's `PropertyListEncoder` and `PropertyListDecoder`.
@Suite("Codable values as property lists", .timeLimit(.minutes(10)))
struct ValueCoderTests {
    private func encode<Value: Codable & Sendable>(_ value: Value) throws -> PropertyListValue {
        try StorageCodec<Value>.propertyList.encode(value)
    }

    private func decode<Value: Codable & Sendable>(_ type: Value.Type, _ stored: PropertyListValue) throws -> Value {
        try StorageCodec<Value>.propertyList.decode(stored)
    }

    /// What Foundation encodes. It refuses a lone leaf, so that the value is the element of an array.
    private func foundation<Value: Codable>(encoding value: Value) throws -> PropertyListValue {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let list = try PropertyListValue.decode(encoder.encode([value])).value
        return try #require(list.array?.first)
    }

    private func foundation<Value: Codable>(decoding stored: PropertyListValue) throws -> Value {
        try PropertyListDecoder().decode([Value].self, from: PropertyListValue.array([stored]).encoded(as: .binary))[0]
    }

    /// Expects that both encode a value in the same way, and decode it.
    private func expectSame<Value: Codable & Equatable & Sendable>(_ value: Value, at location: SourceLocation = #_sourceLocation) throws {
        let stored = try encode(value)
        #expect(try stored == foundation(encoding: value), sourceLocation: location)
        #expect(try decode(Value.self, stored) == value, sourceLocation: location)
        #expect(try foundation(decoding: stored) == value, sourceLocation: location)
    }

    @Test("Generated values of many shapes are encoded as Foundation does, and decoded by both", arguments: 0..<100)
    func generated(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        try expectSame(Tree.random(depth: 5, &generator))
        try expectSame(Record.random(&generator))
    }

    @Test("Lone values and collections are encoded as Foundation does")
    func shapes() throws {
        try expectSame(5)
        try expectSame("text")
        try expectSame([[1, 2], [], [3]])
        try expectSame(["": ["a.b": true]])
        try expectSame([7: "seven", -1: "minus one"])
        try expectSame(UInt64.max)
        try expectSame([Int8.min, 0])
        try expectSame(Data([0, 255]))
        try expectSame(Date(timeIntervalSinceReferenceDate: 0.25))
        try expectSame([Float(0.1), -.infinity])
        try expectSame(UUID())
        try expectSame(Nothing())
        try expectSame(Wrapped(value: Wrapped(value: [Wrapped(value: 1)])))
        try expectSame(Optional(5))
    }

    @Test("Nested and unkeyed containers, superclasses in the same container and in one of their own")
    func containers() throws {
        try expectSame(Interleaved(name: "a", numbers: [1, 2], flag: true, rest: ["x": 0.5]))
        let sharing = SharingSubclass(name: "n", count: 3)
        let nesting = NestingSubclass(name: "n", count: 3)
        #expect(try encode(sharing) == ["name": "n", "count": 3, "shared": ["base": "n", "sub": 3]])
        let base: PropertyListValue = ["name": "n", "shared": ["base": "n"]]
        #expect(try encode(nesting) == ["count": 3, "super": base, "parent": [3, base]])
        #expect(try encode(sharing) == foundation(encoding: sharing))
        #expect(try encode(nesting) == foundation(encoding: nesting))
        #expect(try decode(SharingSubclass.self, encode(sharing)) == sharing)
        #expect(try decode(NestingSubclass.self, encode(nesting)) == nesting)
    }

    @Test("Standard types have their stored form inside a Codable value")
    func standardTypes() throws {
        let value = Standard.sample
        let stored = try encode(value)
        #expect(
            stored == [
                "duration": "2.5s", "url": "https://example.org/a%20b", "decimal": "-19.99", "locale": "de_AT", "zone": "GMT",
                "wide": "170141183460469231731687303715884105727", "range": ["lowerBound": 1, "upperBound": 5],
                "closed": ["lowerBound": "1s", "upperBound": "2s"], "rect": ["x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0],
                "levels": ["low": 1.5], "set": ["1s", "2s", "3s"], "list": [["1.5s"]], "named": ["a": "2"], "optional": "0.25s",
                "any": [1.0, .uid(5)],
            ])
        #expect(try decode(Standard.self, stored) == value)
    }

    @Test("What Foundation has encoded for standard types is read")
    func foundationForms() throws {
        var value = Standard.sample
        // Foundation encodes neither.
        value.wide = 0
        value.any = [1]
        var stored = try foundation(encoding: Foundational(value))
        #expect(stored["duration"]?.array?.count == 2)
        #expect(stored["url"]?["relative"] == "https://example.org/a%20b")
        #expect(stored["decimal"]?.dictionary != nil)
        stored["wide"] = 0
        stored["any"] = [1]
        #expect(try decode(Standard.self, stored) == value)
    }

    @Test("A lone standard type has its own stored form as well, and its Foundation form is read")
    func lone() throws {
        #expect(try encode(Duration.milliseconds(2500)) == "2.5s")
        #expect(try decode(Duration.self, "2.5s") == .milliseconds(2500))
        #expect(try decode(Duration.self, foundation(encoding: Duration.milliseconds(2500))) == .milliseconds(2500))
        #expect(try encode([Duration.seconds(1)]) == ["1s"])
        #expect(try encode(1...3) == ["lowerBound": 1, "upperBound": 3])
    }

    @Test("A type that is Storable in a form of its own has this form inside a Codable value; what its encoding wrote is read")
    func ownForm() throws {
        let value = Holder(version: Version(major: 1, minor: 2), versions: [Version(major: 3, minor: 4)])
        #expect(try encode(value) == ["version": "1.2", "versions": ["3.4"]])
        #expect(try decode(Holder.self, ["version": ["major": 1, "minor": 2], "versions": ["3.4"]]) == value)
        // A stored form that is defined by the encoding does not call itself.
        #expect(try encode(Circular(number: 5)) == ["number": 5])
        #expect(try encode([Circular(number: 5)]) == [["number": 5]])
        #expect(try decode([Circular].self, [["number": 5]]) == [Circular(number: 5)])
    }

    @Test("Nil is no entry, and an error in an array; Foundation's nil is read")
    func nils() throws {
        #expect(try encode(Options(a: nil, b: nil, c: [1, 2])) == ["c": [1, 2]])
        #expect(try encode(Options(a: 1, b: .seconds(1), c: [])) == ["a": 1, "b": "1s", "c": []])
        #expect(try decode(Options.self, ["c": [1]]) == Options(a: nil, b: nil, c: [1]))
        #expect(try decode(Options.self, ["a": "$null", "b": "$null", "c": ["$null", 1]]) == Options(a: nil, b: nil, c: [nil, 1]))
        #expect(try foundation(encoding: Options(a: nil, b: nil, c: [nil, 1]))["c"] == ["$null", 1])
        let error = #expect(throws: EncodingError.self) { try encode(Options(a: 1, b: nil, c: [1, nil])) }
        #expect("\(try #require(error))".contains("a property list cannot hold nil"))
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["c", "1"])
    }

    @Test("Nil that a type encodes and decodes by itself is nil again", arguments: [nil, 1] as [Int?], [nil, 2] as [Int?])
    func ownNils(a: Int?, b: Int?) throws {
        struct Written: Codable, Equatable {
            let a: Int?
            let b: Int?

            init(_ a: Int?, _ b: Int?) { (self.a, self.b) = (a, b) }

            enum CodingKeys: String, CodingKey { case a, b }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                a = try container.decode(Int?.self, forKey: .a)
                b = try container.decodeNil(forKey: .b) ? nil : container.decode(Int.self, forKey: .b)
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(a, forKey: .a)
                if let b { try container.encode(b, forKey: .b) } else { try container.encodeNil(forKey: .b) }
            }
        }
        let stored = try encode(Written(a, b))
        #expect(stored == .dictionary(["a": a, "b": b].compactMapValues { $0.map { .integer(PropertyListInteger(Int64($0))) } }))
        #expect(try decode(Written.self, stored) == Written(a, b))
        #expect(try decode(Written.self, foundation(encoding: Written(a, b))) == Written(a, b))
    }

    @Test("An error names the path to the value, what was expected, and what was found")
    func paths() throws {
        func failure(_ stored: PropertyListValue) throws -> (path: [String], text: String) {
            let error = try #require(#expect(throws: DecodingError.self) { try decode(Nested.self, stored) })
            return switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context.codingPath.map(\.stringValue), context.debugDescription)
            case .keyNotFound(let key, let context): (context.codingPath.map(\.stringValue) + [key.stringValue], context.debugDescription)
            @unknown default: ([], "")
            }
        }
        #expect(
            try failure(["a": ["b": [["c": "x"]]]]) == (
                ["a", "b", "0", "c"], "expected Duration (a duration such as 100ms, 1.5s or 1m), found string \"x\""
            ))
        #expect(
            try failure(["a": ["b": [["c": 1]]]]) == (
                ["a", "b", "0", "c"], "expected Duration (a duration such as 100ms, 1.5s or 1m), found integer"
            ))
        #expect(try failure(["a": ["b": [[:]]]]) == (["a", "b", "0", "c"], "there is no entry \"c\""))
        #expect(try failure(["a": ["b": 5]]) == (["a", "b"], "expected an array, found integer"))
        #expect(try failure(["a": [:]]) == (["a", "b"], "there is no entry \"b\""))
        #expect(try failure([]) == ([], "expected a dictionary, found array"))
        // The message of a key has the path, too.
        let store = try ObservableStore(backend: InMemoryBackend(["n": ["a": ["b": [["c": "x"]]]]]))
        let error = #expect(throws: StorageError.self) { try store.value(for: StorageKey<Nested?>("n", codec: .propertyList)) }
        let text = "\(try #require(error))"
        #expect(text.contains("key \"n\": expected Nested") || text.contains("key \"n\": expected Optional<Nested>"))
        #expect(text.contains("a.b[0].c") && text.contains("expected Duration (a duration such as 100ms, 1.5s or 1m), found string \"x\""))
    }

    @Test("Types are not converted inside a Codable value either, except that a real accepts an integer")
    func conversions() throws {
        #expect(try decode([Double].self, [1]) == [1])
        #expect(try decode([Float].self, [1]) == [1])
        #expect(throws: DecodingError.self) { try decode([Int].self, [.real(1)]) }
        #expect(throws: DecodingError.self) { try decode([Bool].self, [1]) }
        #expect(throws: DecodingError.self) { try decode([Int].self, [true]) }
        #expect(throws: DecodingError.self) { try decode([UInt8].self, [256]) }
        #expect(throws: DecodingError.self) { try decode([String].self, [1]) }
        #expect(throws: DecodingError.self) { try decode([Date].self, [5.0]) }
        #expect(throws: DecodingError.self) { try decode([Data].self, [[1, 2]]) }
        #expect(throws: DecodingError.self) { try decode([UUID].self, ["x"]) }
    }

    @Test("A value that cannot be stored is an error with its path")
    func unencodable() throws {
        let error = #expect(throws: EncodingError.self) { try encode(["a": [Decimal.nan]]) }
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["a", "0"])
        #expect(context.debugDescription == "it is not a number")
        #expect(throws: EncodingError.self) { try encode(Misused()) }
        #expect(throws: (any Error).self) { try encode(Int?.none) }
    }

    @Test("A value deep inside that cannot be stored is an error of reasonable size")
    func deepFailure() throws {
        let deep = (0..<100).reduce(Branch(price: .nan)) { branch, index in
            index.isMultiple(of: 2) ? Branch(numbered: [7: branch]) : Branch(all: [branch])
        }
        let error = #expect(throws: EncodingError.self) { try encode(deep) }
        #expect("\(try #require(error))".utf8.count < 100_000)
    }

    @Test("A value that is nested too deep is refused instead of overflowing the stack")
    func depth() throws {
        let deep = (0..<10_000).reduce(List(next: nil)) { list, _ in List(next: list) }
        #expect(throws: EncodingError.self) { try encode(deep) }
        let allowed = (0..<500).reduce(List(next: nil)) { list, _ in List(next: list) }
        #expect(try encode(decode(List.self, encode(allowed))) == encode(allowed))
        // Each instance is released by the one before it, recursively.
        var rest = Optional(deep)
        while let list = rest { (rest, list.next) = (list.next, nil) }
    }

    @Test("A wrong value deep inside is refused after linear work, whichever containers are around it", arguments: [0, 1, 2])
    func linear(kind: Int) throws {
        let leaf: PropertyListValue = ["wrong": true]
        let stored = (0..<100).reduce(leaf) { value, _ in
            [["branches": [value]], ["numbered": ["7": value]], ["all": [value]]][kind]
        }
        // The error is one of reasonable size, with the whole path.
        let error = #expect(throws: DecodingError.self) { try decode(Branch.self, stored) }
        #expect("\(try #require(error))".utf8.count < 10_000)
        let right = (0..<100).reduce([:] as PropertyListValue) { value, _ in
            [["branches": [value]], ["numbered": ["7": value]], ["all": [value]]][kind]
        }
        #expect(try encode(decode(Branch.self, right)) == right)
    }
}

// MARK: - Values

/// A recursive value with every primitive type.
private indirect enum Tree: Codable, Equatable, Sendable {
    case nothing
    case integer(Int)
    case small(UInt8)
    case text(String)
    case real(Double)
    case flag(Bool)
    case bytes(Data)
    case date(Date)
    case maybe(Int?, text: String?)
    case pair(left: Tree, right: Tree)
    case list([Tree])
    case map([String: Tree])

    static func random(depth: Int, _ generator: inout SeededGenerator) -> Tree {
        let number = Int.random(in: -1000...1000, using: &generator)
        return switch Int.random(in: 0..<(depth > 0 ? 12 : 9), using: &generator) {
        case 0: .nothing
        case 1: .integer(number)
        case 2: .small(UInt8(truncatingIfNeeded: number))
        case 3: .text("text \(number) ü🗝")
        case 4: .real(Double(number) / 3)
        case 5: .flag(number > 0)
        case 6: .bytes(Data(repeating: 7, count: abs(number) % 20))
        case 7: .date(Date(timeIntervalSinceReferenceDate: Double(number) / 4))
        case 8: .maybe(number > 0 ? number : nil, text: number.isMultiple(of: 2) ? "\(number)" : nil)
        case 9: .pair(left: random(depth: depth - 1, &generator), right: random(depth: depth - 1, &generator))
        case 10: .list((0..<abs(number) % 4).map { _ in random(depth: depth - 1, &generator) })
        default: .map(Dictionary(uniqueKeysWithValues: (0..<abs(number) % 4).map { ("k\($0)", random(depth: depth - 1, &generator)) }))
        }
    }
}

private struct Record: Codable, Equatable, Sendable {
    enum Kind: String, Codable { case first, second }

    enum CodingKeys: String, CodingKey {
        case kind, counts, names
        case tree = "the tree"
        case kinds, numbers, matrix
    }

    var kind: Kind?
    var counts: [UInt16]
    var names: [Int: String]
    var tree: Tree
    var kinds: [Kind: Int]?
    var numbers: [String: Int64?]
    var matrix: [[Float]]

    static func random(_ generator: inout SeededGenerator) -> Record {
        let count = Int.random(in: 0...4, using: &generator)
        return Record(
            kind: [.first, .second, nil][count % 3], counts: (0..<count).map { _ in .random(in: 0 ... .max, using: &generator) },
            names: Dictionary(uniqueKeysWithValues: (0..<count).map { ($0 * 3 - 4, "name \($0)") }),
            tree: .random(depth: 3, &generator), kinds: nil,
            numbers: Dictionary(uniqueKeysWithValues: (0..<count).map { ("n\($0)", Int64.min + Int64($0)) }),
            matrix: (0..<count).map { row in (0..<row).map { Float($0) / 3 } })
    }
}

private struct Nothing: Codable, Equatable, Sendable {}

private struct Wrapped<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    var value: Value

    init(value: Value) { self.value = value }

    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

/// Encodes into several nested containers in turn.
private struct Interleaved: Codable, Equatable, Sendable {
    enum Keys: String, CodingKey { case inner, list, name, flag, rest }

    var name: String
    var numbers: [Int]
    var flag: Bool
    var rest: [String: Double]

    init(name: String, numbers: [Int], flag: Bool, rest: [String: Double]) {
        (self.name, self.numbers, self.flag, self.rest) = (name, numbers, flag, rest)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var inner = container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode("first")
        var keyed = list.nestedContainer(keyedBy: Keys.self)
        var numbers = list.nestedUnkeyedContainer()
        try keyed.encode(flag, forKey: .flag)
        try inner.encode(name, forKey: .name)
        for number in self.numbers { try numbers.encode(number) }
        try rest.encode(to: list.superEncoder())
        try list.encode(2.5)
        try rest.encode(to: inner.superEncoder(forKey: .rest))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let inner = try container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
        name = try inner.decode(String.self, forKey: .name)
        rest = try [String: Double](from: inner.superDecoder(forKey: .rest))
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        // An element of another type is still there.
        if (try? list.decode(Int.self)) == nil { _ = try list.decode(String.self) }
        flag = try list.nestedContainer(keyedBy: Keys.self).decode(Bool.self, forKey: .flag)
        var numbers = try list.nestedUnkeyedContainer()
        self.numbers = []
        while !numbers.isAtEnd { self.numbers.append(try numbers.decode(Int.self)) }
        let other = try [String: Double](from: list.superDecoder())
        guard try list.decode(Double.self) == 2.5, list.isAtEnd, other == rest, list.currentIndex == list.count else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "not as encoded"))
        }
    }
}

private class Base: Codable {
    enum Keys: String, CodingKey { case name, shared, base }

    let name: String

    init(name: String) { self.name = name }

    required init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .name)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(name, forKey: .name)
        var shared = container.nestedContainer(keyedBy: Keys.self, forKey: .shared)
        try shared.encode(name, forKey: .base)
    }
}

private final class SharingSubclass: Base, Equatable, @unchecked Sendable {
    enum SubclassKeys: String, CodingKey { case count, shared, sub }

    let count: Int

    init(name: String, count: Int) {
        self.count = count
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        count = try decoder.container(keyedBy: SubclassKeys.self).decode(Int.self, forKey: .count)
        try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: SubclassKeys.self)
        try container.encode(count, forKey: .count)
        var shared = container.nestedContainer(keyedBy: SubclassKeys.self, forKey: .shared)
        try shared.encode(count, forKey: .sub)
    }

    static func == (left: SharingSubclass, right: SharingSubclass) -> Bool { (left.name, left.count) == (right.name, right.count) }
}

private final class NestingSubclass: Base, Equatable, @unchecked Sendable {
    enum SubclassKeys: String, CodingKey { case count, parent }

    let count: Int

    init(name: String, count: Int) {
        self.count = count
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SubclassKeys.self)
        count = try container.decode(Int.self, forKey: .count)
        var parent = try container.nestedUnkeyedContainer(forKey: .parent)
        _ = try parent.decode(Int.self)
        _ = try Base(from: parent.superDecoder())
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: SubclassKeys.self)
        try super.encode(to: container.superEncoder())
        var parent = container.nestedUnkeyedContainer(forKey: .parent)
        try parent.encode(count)
        try super.encode(to: parent.superEncoder())
        try container.encode(count, forKey: .count)
    }

    static func == (left: NestingSubclass, right: NestingSubclass) -> Bool { (left.name, left.count) == (right.name, right.count) }
}

private enum Level: String, Codable, Storable, LosslessStringConvertible { case low, high }

private struct Standard: Codable, Equatable, Sendable {
    var duration = Duration.milliseconds(2500)
    var url = URL(string: "https://example.org/a%20b")!
    var decimal = Decimal(string: "-19.99")!
    var locale = Locale(identifier: "de_AT")
    var zone = TimeZone(identifier: "GMT")!
    var wide = Int128.max
    var range = 1..<5
    var closed = Duration.seconds(1)...Duration.seconds(2)
    var rect = CGRect(x: 1, y: 2, width: 3, height: 4)
    var levels = [Level.low: 1.5]
    var set: Set<Duration> = [.seconds(3), .seconds(1), .seconds(2)]
    var list = [[Duration.milliseconds(1500)]]
    var named = ["a": Decimal(2)]
    var optional: Duration? = .milliseconds(250)
    var any: PropertyListValue = [1.0, .uid(5)]

    static let sample = Standard()
}

/// The same without what Foundation does not encode.
private struct Foundational: Codable {
    var duration, optional: Duration
    var url: URL
    var decimal: Decimal
    var locale: Locale
    var zone: TimeZone
    var range: Range<Int>
    var closed: ClosedRange<Duration>
    var rect: CGRect
    var levels: [Level: Double]
    var set: Set<Duration>
    var list: [[Duration]]
    var named: [String: Decimal]

    init(_ value: Standard) {
        (duration, optional, url, decimal) = (value.duration, value.optional!, value.url, value.decimal)
        (locale, zone, range, closed, rect) = (value.locale, value.zone, value.range, value.closed, value.rect)
        (levels, set, list, named) = (value.levels, value.set, value.list, value.named)
    }
}

private struct Version: Codable, Equatable, Storable {
    var major, minor: Int

    init(major: Int, minor: Int) { (self.major, self.minor) = (major, minor) }

    init(propertyListValue: PropertyListValue) throws {
        let parts = try String(propertyListValue: propertyListValue).split(separator: ".").compactMap { Int($0) }
        guard parts.count == 2 else { throw CocoaError(.coderReadCorrupt) }
        self.init(major: parts[0], minor: parts[1])
    }

    var propertyListValue: PropertyListValue { .string("\(major).\(minor)") }
}

private struct Holder: Codable, Equatable, Sendable {
    var version: Version
    var versions: [Version]
}

private struct Circular: Codable, Equatable, Storable {
    var number: Int

    init(number: Int) { self.number = number }

    init(propertyListValue: PropertyListValue) throws { self = try StorageCodec.propertyList.decode(propertyListValue) }

    var propertyListValue: PropertyListValue {
        get throws { try StorageCodec.propertyList.encode(self) }
    }
}

private struct Options: Codable, Equatable, Sendable {
    var a: Int?
    var b: Duration?
    var c: [Int?]
}

private struct Nested: Codable, Sendable {
    struct A: Codable { var b: [C] }
    struct C: Codable { var c: Duration }

    var a: A
}

private struct Misused: Codable, Sendable {
    init() {}

    init(from decoder: any Decoder) {}

    func encode(to encoder: any Encoder) throws {
        _ = encoder.unkeyedContainer()
        var container = encoder.singleValueContainer()
        try container.encode(1)
    }
}

private final class List: Codable, @unchecked Sendable {
    var next: List?

    init(next: List?) { self.next = next }
}

private struct Branch: CodableStorable, Hashable {
    var branches: [Branch]?
    var numbered: [Int: Branch]?
    var all: Set<Branch>?
    var wrong: Int?
    var price: Decimal?
}
