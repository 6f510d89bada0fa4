package import Foundation
package import ObservableStorage

extension FileSystemCalls {
    /// The system's, with pauses that take no time.
    package static var withoutPauses: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.pause = { _ in }
        return calls
    }
}

extension PropertyListFile {
    /// A file whose pauses for other programs, such as one that has moved the file away for a moment, take no time.
    package convenience init(
        withoutPausesAt url: URL, onCorruption: CorruptionPolicy = .refuse, onDeletion: DeletionPolicy = .removeAll
    ) {
        let configuration = Configuration.with {
            ($0.onCorruption, $0.lockTimeout, $0.onDeletion) = (onCorruption, .seconds(500), onDeletion)
        }
        self.init(at: url, configuration: configuration, calls: .withoutPauses)
    }
}
