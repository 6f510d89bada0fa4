/// What to do when a file that is to be opened is no readable property list.
public enum CorruptionPolicy: Sendable, Hashable {
    /// Throw an error that says where and why, and leave the file as it is.
    case refuse
    /// Move the file aside, to `NAME.corrupt-TIME`, of which the newest three are kept, and start empty.
    case quarantine
}
