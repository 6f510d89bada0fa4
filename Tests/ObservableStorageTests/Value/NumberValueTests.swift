import Foundation
import PropertyListCoding
import Testing
import UserDefaultsStorage

@testable import ObservableStorage

/// An integer type, and whether its bounds are preserved and larger values rejected.
private struct Width: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable () throws -> Void

    init<Number: FixedWidthInteger & Storable>(_ type: Number.Type) {
        testDescription = "\(type)"
        check = { () throws in
            for number in [Number.min, 0, 1, .max] {
                let stored = try #require(PropertyListInteger(exactly: number))
                #expect(try number.propertyListValue == .integer(stored))
                #expect(try Number(propertyListValue: .integer(stored)) == number)
            }
            let beyond = [
                Int64(exactly: Number.min).map { $0.subtractingReportingOverflow(1) },
                Int64(exactly: Number.max).map { $0.addingReportingOverflow(1) },
            ]
            for case let (number, false)? in beyond {
                #expect(throws: CodingFailure(type, found: "integer \(number), which is out of range")) {
                    try Number(propertyListValue: .integer(PropertyListInteger(number)))
                }
            }
        }
    }
}

@Suite("Numbers as Storable", .timeLimit(.minutes(10))) struct NumberValueTests {
    @Test(
        "An integer keeps its whole range, and a larger one is not truncated",
        arguments: [
            Width(Int.self), Width(Int8.self), Width(Int16.self), Width(Int32.self), Width(Int64.self), Width(UInt.self), Width(UInt8.self),
            Width(UInt16.self), Width(UInt32.self), Width(UInt64.self),
        ])
    private func range(_ width: Width) throws {
        try width.check()
    }

    @Test("An unsigned number beyond Int64 is no Int, a negative one no UInt64")
    func signs() {
        let large = PropertyListValue.integer(PropertyListInteger(UInt64.max))
        #expect(throws: CodingFailure(Int.self, found: "integer 18446744073709551615, which is out of range")) {
            try Int(propertyListValue: large)
        }
        #expect(throws: CodingFailure(UInt64.self, found: "integer -1, which is out of range")) { try UInt64(propertyListValue: -1) }
    }

    @Test("A real reads a stored integer that it can represent exactly, and no other")
    func integersAsReals() throws {
        #expect(try Double(propertyListValue: 1) == 1)
        #expect(try Double(propertyListValue: -9_007_199_254_740_992) == -9_007_199_254_740_992)
        #expect(try Double(propertyListValue: .integer(PropertyListInteger(UInt64(1) << 63))) == 0x1p63)
        #expect(try Float(propertyListValue: 16_777_216) == 16_777_216)
        #expect(try CGFloat(propertyListValue: 2) == 2)
        #expect(throws: CodingFailure(Double.self, found: "integer 9007199254740993, which it cannot hold exactly")) {
            try Double(propertyListValue: 9_007_199_254_740_993)
        }
        #expect(throws: CodingFailure(Double.self, found: "integer 18446744073709551615, which it cannot hold exactly")) {
            try Double(propertyListValue: .integer(PropertyListInteger(UInt64.max)))
        }
        #expect(throws: CodingFailure(Float.self, found: "integer 16777217, which it cannot hold exactly")) {
            try Float(propertyListValue: 16_777_217)
        }
    }

    @Test("A Float rounds a stored real, but rejects one beyond its range")
    func floatRange() throws {
        #expect(try Float(propertyListValue: 0.1) == 0.1)
        #expect(try Float(propertyListValue: .real(1e-60)) == 0)
        #expect(try Float(propertyListValue: .real(-.infinity)) == -.infinity)
        #expect(throws: CodingFailure(Float.self, found: "real 1e+39, which is out of range")) {
            try Float(propertyListValue: .real(1e39))
        }
    }

    @Test("A real is preserved bit for bit, including NaN and the sign of zero")
    func bits() throws {
        for real in [Double.nan, -0.0, 0.0, Double(nan: 5, signaling: false)] {
            #expect(real.propertyListValue == .real(real))
            #expect(try Double(propertyListValue: real.propertyListValue).bitPattern == real.bitPattern)
        }
        for real in [Float.nan, -0.0, 0.0] {
            #expect(try Float(propertyListValue: real.propertyListValue).bitPattern == real.bitPattern)
        }
        #expect(try CGFloat(propertyListValue: CGFloat(-0.0).propertyListValue).sign == .minus)
    }

    @Test(
        "A decimal is read back exactly, whatever its size",
        arguments: [
            "0", "1.5", "-0.001", "0.1", "99999999999999999999999999999999999999", "-1234567890.0987654321",
            "0.\(String(repeating: "0", count: 126))1", "1\(String(repeating: "0", count: 127))",
            Decimal.greatestFiniteMagnitude.description,
            Decimal.leastFiniteMagnitude.description, Decimal.leastNonzeroMagnitude.description,
        ])
    func decimal(_ text: String) throws {
        let decimal = try Decimal(propertyListValue: .string(text))
        #expect(try decimal.propertyListValue == .string(text))
        #expect(try Decimal(propertyListValue: decimal.propertyListValue) == decimal)
    }

    @Test(
        "A decimal can be written in any usual notation",
        arguments: [("1.50", "1.5"), ("+2", "2"), ("-0", "0"), ("1e3", "1000"), ("25E-1", "2.5"), ("007", "7"), (".5", "0.5"), ("5.", "5")])
    func decimalSpelling(_ text: String, _ canonical: String) throws {
        #expect(try Decimal(propertyListValue: .string(text)).propertyListValue == .string(canonical))
    }

    @Test(
        "A string that is not a complete decimal number, or has more digits than a Decimal, is rejected",
        arguments: [
            "", ".", "-", "1,5", "1abc", " 1", "1 ", "1.2.3", "--1", "1e", "e5", "NaN", "0x10", "١", "1e128", "1e-129",
            "1e9223372036854775807",
            "1234567890123456789012345678901234567890123", "340282366920938463463374607431768211457",
        ])
    func wrongDecimal(_ text: String) {
        #expect(throws: CodingFailure(Decimal.self, found: "string \"\(text)\"")) { try Decimal(propertyListValue: .string(text)) }
    }

    @Test("A Decimal that is not a number cannot be stored")
    func notANumber() {
        #expect(throws: CodingFailure("it is not a number")) { try Decimal.nan.propertyListValue }
    }
}
