import Foundation
import ObservableStorage

/// A process of its own beside a test, that uses the library, or Foundation's user defaults, as it is told.
@main
struct Peer {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "set": try set(arguments[2], to: arguments[3], in: arguments[1])
        case "set-many": try setMany(Int(arguments[3]) ?? 0, prefix: arguments[2], in: arguments[1])
        case "count": try count(to: Int(arguments[3]) ?? 0, key: arguments[2], in: arguments[1])
        case "user-defaults": setUserDefaults(arguments[2], to: Int(arguments[3]) ?? 0, in: arguments[1])
        default: throw UnknownRequest()
        }
    }

    private struct UnknownRequest: Error {}

    /// Sets a value and returns at once.
    private static func set(_ key: String, to value: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        try store.set(value, for: StorageKey(key, default: ""))
    }

    /// Sets many keys, one by one.
    private static func setMany(_ count: Int, prefix: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        for number in 0..<count { try store.set(number, for: StorageKey("\(prefix)\(number)", default: 0)) }
    }

    /// Sets one key to each number in turn, with pauses of up to 5 ms.
    private static func count(to last: Int, key: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        for number in stride(from: 1, through: last, by: 1) {
            try store.set(number, for: StorageKey(key, default: 0))
            usleep(.random(in: 0...5000))
        }
    }

    private static func setUserDefaults(_ key: String, to value: Int, in suite: String) {
        let defaults = UserDefaults(suiteName: suite)
        defaults?.set(value, forKey: key)
        defaults?.synchronize()
    }
}
