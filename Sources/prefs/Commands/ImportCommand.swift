import Foundation
import ObservableStorage
import PropertyListCoding

/// `prefs import`: merges a property list into the file.
struct ImportCommand: Command {
    static let name = "import"
    static let operands = "FILE"
    static let operandCount = 1...1
    static let summary = "Set every entry of the property list on standard input, binary or XML, as one transaction."

    private let file: PreferencesFile

    init(_ arguments: Arguments) {
        file = PreferencesFile(arguments.operands[0])
    }

    func run(_ output: Output) throws {
        let imported = try entries(of: input())
        try file.edit { entries in
            for (key, value) in imported { entries[key] = value }
        }
    }

    private func input() throws(Failure) -> Data {
        do {
            return try FileHandle.standardInput.readToEnd() ?? Data()
        } catch {
            throw .impossible("standard input: cannot be read: \(error.localizedDescription)")
        }
    }

    private func entries(of bytes: Data) throws(Failure) -> [String: PropertyListValue] {
        let root: PropertyListValue
        do throws(PropertyListError) {
            root = try PropertyListValue.decode(bytes).value
        } catch {
            throw .impossible("standard input: not a readable property list: \(error)")
        }
        guard case .dictionary(let entries) = root else {
            throw .impossible("standard input: its root is of type \(root.typeName), not a dictionary")
        }
        return entries
    }
}
