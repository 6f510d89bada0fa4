import FoundationSubset

/// The condition under which the content of a file can be read, for Apple's systems with data protection; others ignore it.
public enum FileProtection: Sendable, Hashable, CaseIterable {
    /// Only while the device is unlocked.
    case complete
    /// While the device is unlocked, or the file was opened before it was locked.
    case completeUnlessOpen
    /// After the device was unlocked for the first time since it was started.
    case completeUntilFirstUserAuthentication
    /// Always.
    case none

    /// The number of the class, from A to D, for `F_SETPROTECTIONCLASS` (xnu, `sys/content_protection.h`).
    var number: Int32 {
        switch self {
        case .complete: 1
        case .completeUnlessOpen: 2
        case .completeUntilFirstUserAuthentication: 3
        case .none: 4
        }
    }
}

extension FileSystemCalls {
    /// Sets the data protection of an empty file that was just created, before it has content.
    ///
    /// - Parameters:
    ///   - old: the open file that it replaces, whose protection it gets; nil if there is none.
    ///   - chosen: the protection if there is no such file; nil for that which the system gives to new files.
    func setProtection(of descriptor: Int32, successorOf old: Int32?, orTo chosen: FileProtection?) throws(SystemError) {
        let kept = old.flatMap(protectionClass)
        guard let number = kept ?? (old == nil ? chosen?.number : nil), protectionClass(descriptor) != number else { return }
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try setProtectionClass(descriptor, number) }
        } catch let error where [EINVAL, ENOTSUP, ENOTTY].contains(error.code) {
            // The file system has no protection. Any other error is thrown: the content must not be less protected.
        }
    }
}
