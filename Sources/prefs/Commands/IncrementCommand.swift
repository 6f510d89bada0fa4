import ObservableStorage
import PropertyListCoding

/// `prefs increment`: counts, with no other process in between.
struct IncrementCommand: Command {
    static let name = "increment"
    static let operands = "FILE KEY [BY]"
    static let operandCount = 2...3
    static let summary = "Add 1 or BY to an integer, atomically, and print the sum."
    static let details = "A missing key counts from 0. BY may be negative. A sum that is out of range changes nothing."

    private let file: PreferencesFile
    private let key: String
    private let step: Int128

    init(_ arguments: Arguments) throws(ArgumentParser.Mistake) {
        let text = arguments.operands.count > 2 ? arguments.operands[2] : "1"
        guard let step = Int128(text), PropertyListInteger(exactly: step) != nil else {
            throw ArgumentParser.Mistake(reason: "not a whole number in range: \(text)")
        }
        self.step = step
        file = PreferencesFile(arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        var sum: PropertyListInteger = 0
        try file.edit { entries in
            sum = try self.sum(entries[key] ?? 0)
            entries[key] = .integer(sum)
        }
        try output.write(line: sum.description)
    }

    private func sum(_ stored: PropertyListValue) throws(Failure) -> PropertyListInteger {
        guard case .integer(let integer) = stored, let count = integer.value(as: Int128.self) else {
            throw .impossible("\(file.path): key \(JSONText.quoted(key)) cannot be incremented: it is of type \(stored.typeName)")
        }
        guard let sum = PropertyListInteger(exactly: count + step) else {
            throw .impossible("\(file.path): key \(JSONText.quoted(key)) cannot be incremented: \(count + step) is out of range")
        }
        return sum
    }
}
