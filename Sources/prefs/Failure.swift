/// Why a command ends early.
enum Failure: Error {
    /// The entry is not there.
    case noSuchKey(String)
    /// The command line makes no sense; the command whose usage helps, if it got that far.
    case usage(String, (any Command.Type)?)
    /// The file cannot be read, written or locked, or what is stored forbids the edit; what is wrong, beginning with the file.
    case impossible(String)
    /// Nobody reads the output any more.
    case closedOutput

    /// The exit status.
    var status: Int32 {
        switch self {
        case .closedOutput: 0
        case .noSuchKey: 1
        case .usage: 2
        case .impossible: 3
        }
    }
}
