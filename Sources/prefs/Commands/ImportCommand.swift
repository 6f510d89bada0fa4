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
        let imported = try entries(of: StandardInput.read())
        try file.edit { entries in
            for (key, value) in imported { entries[key] = value }
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

/// What another program or a file gives to be read, of which no more is taken than of a property list's file.
enum StandardInput {
    /// Reads a descriptor to its end.
    static func read(_ descriptor: Int32 = STDIN_FILENO, atMost largest: Int = AtomicFile.largestSize) throws(Failure) -> Data {
        var bytes = Data()
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = systemRead(descriptor, &piece)
            if count == 0 { return bytes }
            if count > 0 {
                guard count <= largest - bytes.count else {
                    throw .impossible("standard input: it has more than \(largest) bytes, which are read at most")
                }
                bytes.append(contentsOf: piece[..<count])
            } else {
                try recover(from: errno, descriptor)
            }
        }
    }

    private static func recover(from error: Int32, _ descriptor: Int32) throws(Failure) {
        switch error {
        case EINTR: return
        case EAGAIN:
            // Somebody made it non-blocking.
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&request, 1, -1)
        default: throw .impossible("standard input: cannot be read: \(String(cString: strerror(error)))")
        }
    }
}

private func systemRead(_ descriptor: Int32, _ bytes: inout [UInt8]) -> Int {
    bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
}
