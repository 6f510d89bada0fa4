import Foundation
import ObservableStorage

/// Chooses ports for servers.
public enum ServerPort {
    // Below the ports that systems give to outgoing connections, which would take that of a server that a test has killed and restarts.
    private static let range = 10_000..<30_000
    private static let next = Lock(range.lowerBound + Int(getpid()) * 97 % range.count)

    /// A port that nobody listens on, and that this process did not choose before.
    ///
    /// Another process may take it at the same moment: a server that can't listen on it has to be started with another one.
    public static func unused() -> Int {
        while true {
            let port = next.withLock { next in
                next = next + 1 < range.upperBound ? next + 1 : range.lowerBound
                return next
            }
            if isUnused(port) { return port }
        }
    }

    private static func isUnused(_ port: Int) -> Bool {
        do {
            _ = try LoopbackSocket.listening(on: port)
            return true
        } catch {
            return false
        }
    }
}
