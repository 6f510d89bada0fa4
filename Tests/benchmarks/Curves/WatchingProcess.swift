import Foundation
import ObservableStorage

/// The work of each watching process.
enum WatchingProcess {
    static func watch(_ file: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: file))
        exitAfterInput()
        for await value in store.values(of: .launchCount) {
            consume(value)
            try FileHandle.standardOutput.write(contentsOf: Data([UInt8(ascii: ".")]))
        }
    }
    /// Ends the process when its standard input is closed.
    static func exitAfterInput() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
    }
}
