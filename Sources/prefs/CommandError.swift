import FoundationSubset
import ObservableStorage

/// The reason why a command ends early.
enum CommandError: Error, Equatable {
    case noSuchKey(String)
    /// The command line is invalid; the synopsis is the usage of the command, or nil if none was recognized.
    case usage(String, synopsis: String? = nil)
    /// The file can't be read, written or locked, or its contents do not allow the edit; the reason begins with the file.
    case failed(String)
    /// The file does not have the requested changes any more; the reason begins with the file.
    case notRemembered(String)
    /// The reader of standard output has closed it.
    case outputClosed
    /// The command has reported its result; it ends with this status.
    case reported(status: Int32)

    /// Why a file without a journal has no earlier changes.
    static let noJournal = "it has no journal, so that its earlier changes are not known"

    /// Wraps an error of the library, whose description names the file and the reason.
    init(_ error: any Error) {
        self = error as? CommandError ?? .failed(String(describing: error))
    }

    var status: Int32 {
        switch self {
        case .outputClosed: 0
        case .noSuchKey: 1
        case .usage: 2
        case .failed: 3
        case .notRemembered: 4
        case .reported(let status): status
        }
    }

    func report() {
        switch self {
        case .outputClosed, .reported: return
        case .noSuchKey, .failed, .notRemembered: Self.print("prefs: \(self)")
        case .usage(_, let synopsis):
            Self.print("prefs: \(self)")
            Self.print(synopsis.map { "usage: \($0)" } ?? "try: prefs help")
        }
    }

    /// Prints a text on standard error, on a single line without control characters, which a file's name or a server's message may contain.
    static func print(_ text: String) {
        do {
            try Output(descriptor: STDERR_FILENO, isColoured: false).write(line: text.printableLine)
        } catch {
            // There is no stream left on which to report this.
        }
    }
}

extension CommandError: CustomStringConvertible {
    var description: String {
        switch self {
        case .outputClosed, .reported: ""
        case .noSuchKey(let key): "no such key: \(key.quoted)"
        case .failed(let reason), .notRemembered(let reason), .usage(let reason, _): reason
        }
    }
}
