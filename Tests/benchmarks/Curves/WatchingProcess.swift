import Foundation
import ObservableStorage

/// The work of each watching process.
enum WatchingProcess {
    static func watch(_ file: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: file))
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
        for await value in store.values(of: .launchCount) {
            consume(value)
            try FileHandle.standardOutput.write(contentsOf: Data([UInt8(ascii: ".")]))
        }
    }
}
