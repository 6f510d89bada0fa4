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

extension FileProtection {
    /// The numbers of the classes whose files stay usable while they are open and the device is locked: B, C, D and F.
    ///
    /// The pages of the others, A and that of `completeWhenUserInactive` (7), are removed then, and accessing one ends the process
    /// (bugsnag-cocoa#1407; xnu, `sys/content_protection.h`).
    static let mappable: Set<Int32> = [2, 3, 4, 6]

    /// The reason why files of a class may not be mapped; nil if they may.
    static func mappingObjection(toClass number: Int32?) -> String? {
        guard let number, !mappable.contains(number) else { return nil }
        return "its data protection (class \(number)) would end a process that uses a log of edits while the device is locked"
    }
}

extension FileSystemCalls {
    /// Opens a file in order to ask for its protection; returns nil if it is missing.
    ///
    /// Throws `EPERM` while the device is locked and the protection does not allow opening it.
    func openForProtection(_ path: ResolvedPath) throws(SystemError) -> Int32? {
        try ifPresent { () throws(SystemError) in try openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) }
    }

    /// Opens a file that is going to be replaced; returns nil if it has to be replaced without being open. Without a free descriptor it
    /// throws: the access control list of the file could not be read.
    func openReplaced(_ path: ResolvedPath) throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        } catch let error where error.code == EPERM || error.isShortage {
            // With EPERM the device is locked, and the protection of the file, which has to be kept, cannot be read.
            throw error
        } catch {
            return nil
        }
    }

    /// The number of the protection class of a file; nil if it is missing or has none.
    func protectionClass(at path: ResolvedPath) throws(SystemError) -> Int32? {
        guard let descriptor = try openForProtection(path) else { return nil }
        defer { discard(descriptor) }
        return protectionClass(descriptor)
    }

    /// Sets the data protection of a file that was just created beside another one to that of the other one.
    ///
    /// - Parameter chosen: the protection if there is no other file; nil for the system's default.
    func setProtection(of descriptor: Int32, besides other: ResolvedPath, orTo chosen: FileProtection?) throws(SystemError) {
        let file = try openForProtection(other)
        defer { if let file { discard(file) } }
        try setProtection(of: descriptor, successorOf: file, orTo: chosen)
    }

    /// Sets the data protection of an empty file that was just created, before it has content.
    ///
    /// - Parameters:
    ///   - old: the open file that it replaces, whose protection it gets; nil if there is none.
    ///   - chosen: the protection if there is no such file; nil for the system's default.
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
