import Foundation
import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("Errors inside collections", .timeLimit(.minutes(10))) struct NestedValueTests {
    /// A user-defined type with its own error.
    private struct Even: Storable {
        struct Odd: Error, CustomStringConvertible {
            let description = "it is odd"
        }

        let number: Int

        init(_ number: Int) {
            self.number = number
        }

        init(propertyListValue: PropertyListValue) throws {
            number = try Int(propertyListValue: propertyListValue)
            guard number.isMultiple(of: 2) else { throw Odd() }
        }

        var propertyListValue: PropertyListValue {
            get throws {
                guard number.isMultiple(of: 2) else { throw Odd() }
                return try number.propertyListValue
            }
        }
    }

    private func failure<Value: Storable>(decoding stored: PropertyListValue, as type: Value.Type) throws -> StorageError {
        let error = try #require(throws: (any Error).self) { try Value(propertyListValue: stored) }
        return .undecodable(key: "servers", as: type, stored: stored, because: error)
    }

    private func failure(encoding value: some Storable) throws -> StorageError {
        let error = try #require(throws: (any Error).self) { _ = try value.propertyListValue }
        return .unencodable(key: "servers", because: error)
    }

    @Test("A wrong element fails the whole value and is named by its path")
    func place() throws {
        #expect(try failure(decoding: [1, 2, "x"], as: [Int].self) == .undecodable(key: "servers[2]", expected: "Int", found: "string"))
        #expect(
            try failure(decoding: ["a": [["port": 1], ["port": 1, "name": true]]], as: [String: [[String: Int]]].self)
                == .undecodable(key: "servers.a[1].name", expected: "Int", found: "boolean"))
        #expect(
            try failure(decoding: ["a.b": ["": [300]]], as: [String: [String: [UInt8?]]].self)
                == .undecodable(key: "servers[\"a.b\"][\"\"][0]", expected: "UInt8", found: "integer 300, which is out of range"))
    }

    @Test("A wrong value that is not a collection is named by the key")
    func noPlace() throws {
        #expect(try failure(decoding: "x", as: Int.self) == .undecodable(key: "servers", expected: "Int", found: "string"))
        #expect(try failure(decoding: "x", as: [Int].self) == .undecodable(key: "servers", expected: "Array<Int>", found: "string"))
    }

    @Test("An error thrown by a user-defined type is reported with its type, kind and path")
    func ownErrors() throws {
        let odd = UnderlyingError(Even.Odd())
        #expect(
            try failure(decoding: 3, as: Even.self)
                == .undecodable(key: "servers", expected: "Even", found: "integer, which was refused: it is odd", underlying: odd))
        #expect(
            try failure(decoding: ["a": [2, 3]], as: [String: [Even]].self)
                == .undecodable(key: "servers.a[1]", expected: "Even", found: "integer, which was refused: it is odd", underlying: odd))
        #expect(try failure(encoding: Even(1)) == .unencodable(key: "servers", reason: "it is odd", underlying: odd))
        #expect(
            try failure(encoding: ["a": [Even(2), Even(1)]]) == .unencodable(key: "servers.a[1]", reason: "it is odd", underlying: odd))
    }

    @Test("Nil inside a collection cannot be stored")
    func nilInside() throws {
        #expect(try failure(encoding: [1, nil]) == .unencodable(key: "servers[1]", reason: "a property list cannot hold nil"))
        #expect(try failure(encoding: ["a": Int?.none]) == .unencodable(key: "servers.a", reason: "a property list cannot hold nil"))
        #expect(try failure(encoding: Int??.some(nil)) == .unencodable(key: "servers", reason: "a property list cannot hold nil"))
    }
}
