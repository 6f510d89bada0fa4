public import Dispatch
public import Foundation
import PropertyListCoding

/// The entries of one domain of `UserDefaults`: those stored by the application, or a suite, without registered, global or argument
/// defaults.
///
/// Types are preserved: booleans, integers and reals remain distinct. A value that Foundation cannot represent is rejected with
/// ``StorageError/unencodable(key:reason:)``, and nothing of that edit is stored.
///
/// Stores of one domain in one process do not lose each other's edits, and are notified of changes by `UserDefaults.didChangeNotification`.
/// Foundation implements only a part of this on Linux, so that ``PropertyListFile``, or `ObservableStore(suiteName:)` on the same file, is
/// preferable there:
///
/// - It posts the notification only when a whole domain is replaced or removed, never for `set` or `removeObject`. This backend posts it
///   for its own edits. Edits by others, and all edits by other processes, are found when the domain is next read, at an unspecified time.
/// - It rewrites the file in place, without a lock or `fsync`, and sets its mode to 0600. Two processes that write at the same time, or one
///   that reads or exits meanwhile, may lose entries. A file that it cannot read is treated as empty.
/// - The file is XML: dates are truncated to whole seconds, -0.0 becomes 0.0, and text that XML cannot represent is rejected. A dictionary
///   like that of an archive's UID, if another program wrote one, makes the whole domain read as empty.
/// - All domains of the process are written together: if one cannot be written, edits of the others fail as well.
public final class UserDefaultsBackend: StorageBackend, @unchecked Sendable {
    // Invariant of the unchecked conformance: nothing here changes after initialization, and the only calls made on `defaults` are
    // `set`, `removeObject`, `synchronize` and `persistentDomain`, which may be made from any thread and lock inside.
    private let defaults: UserDefaults
    private let domain: String

    /// Foundation may call observers inside an edit, and uses one lock for all domains: so does this, while no user code runs.
    private static let queue = DispatchQueue(label: "ObservableStorage.UserDefaultsBackend")
    private static let owner = LockOwner<Void>()
    /// The key in a notification's `userInfo` for the name of the changed domain.
    private static let changedDomain = "ObservableStorage.domain"

    /// The name of the domain in errors.
    public var name: String {
        "UserDefaults \(domain)"
    }

    /// Creates a backend for user defaults and the name of their domain, which they do not expose.
    ///
    /// - Parameters:
    ///   - defaults: the user defaults to read and edit.
    ///   - domain: the name with which `defaults` were created as a suite; for `UserDefaults.standard`, see ``init()``.
    public init(_ defaults: UserDefaults, domain: String) {
        self.defaults = defaults
        self.domain = domain
    }

    /// Creates a backend for the application's own user defaults: the domain of its bundle identifier, or else of its executable's name.
    public convenience init() {
        self.init(.standard, domain: Bundle.applicationDomain)
    }

    /// Creates a backend for the user defaults of a suite; returns nil if Foundation has none of that name.
    public convenience init?(suiteName: String) {
        // Foundation distinguishes the application's domain from a suite of the same name, although both use one file.
        let isOwn = suiteName == Bundle.applicationDomain
        guard let defaults = isOwn ? .standard : UserDefaults(suiteName: suiteName) else { return nil }
        self.init(defaults, domain: suiteName)
    }

    /// Reads the current content of the domain, including values stored by other processes.
    ///
    /// - Throws: ``StorageError`` if the domain contains an object that is not a property list.
    public func load() throws -> StorageEntries {
        try Self.synchronized { try entries() }
    }

    /// Runs an edit on the domain, again if anything in it changed meanwhile, and stores only the changes of the edit.
    ///
    /// - Returns: the entries as Foundation stores them, which truncates dates to whole seconds on Linux.
    /// - Throws: the error of the edit; ``StorageError`` if Foundation cannot represent a value, or store the domain. Then nothing changes.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            let before = try load()
            var entries = before
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return before }
            let edits = try Self.edits(from: before, to: entries)
            // The edit is user code and ran outside the queue: it runs again if the domain was changed meanwhile.
            guard let stored = try Self.synchronized({ try store(edits, over: before) }) else { continue }
            announce(defaults, [Self.changedDomain: domain])
            return stored
        }
    }

    /// True: an edit inside another one is made separately.
    public var allowsNestedEdits: Bool { true }

    /// Reports that user defaults have changed, as far as Foundation or another backend of this type posts it.
    public func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        let subscription = Subscription()
        let tell: @Sendable () -> Void = {
            queue.async { if !subscription.isEnded { report(.changed) } }
        }
        // Safe because it is only passed back to the notification center, which is allowed on any thread.
        nonisolated(unsafe) let observer = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { [domain] notification in
            // Foundation does not name the changed domain; this backend does.
            if let changed = notification.userInfo?[Self.changedDomain] as? String, changed != domain { return }
            tell()
        }
        tell()
        return ObservationToken {
            subscription.end()
            NotificationCenter.default.removeObserver(observer)
        }
    }

    /// Runs a closure after all earlier ones have returned, or immediately if this thread is running one of them.
    private static func synchronized<Result>(_ body: () throws -> Result) rethrows -> Result {
        if owner.resource != nil { return try body() }
        return try queue.sync { try owner.own(()) { try body() } }
    }

    private func entries() throws(StorageError) -> StorageEntries {
        refresh(defaults)
        var values: [String: PropertyListValue] = [:]
        for (key, object) in defaults.persistentDomain(forName: domain) ?? [:] {
            guard let value = PropertyListValue(foundation: object) else {
                throw .unreadable(file: name, reason: "what is stored for \"\(key)\" is no property list")
            }
            values[key] = value.rounded(for: Self.format)
        }
        return StorageEntries(values)
    }

    /// Stores edits, unless the domain has changed since they were made.
    private func store(_ edits: [Edit], over before: StorageEntries) throws(StorageError) -> StorageEntries? {
        guard try entries().changes(since: before).isEmpty else { return nil }
        for edit in edits { set(edit.object, for: edit.key) }
        guard defaults.synchronize() else {
            revert(edits, to: before.values)
            // Foundation may have stored these edits and failed in another domain: the earlier values have to be stored again.
            defaults.synchronize()
            throw .unwritable(file: name, reason: "Foundation could not store it, or another domain of this process")
        }
        var values = before.values
        for edit in edits { values[edit.key] = edit.value }
        return StorageEntries(values)
    }

    /// Sets an object, or removes the entry.
    func set(_ object: Any?, for key: String) {
        // Foundation on Linux keeps the number 1 if true or 1.0 is set, since they are equal to it.
        defaults.removeObject(forKey: key)
        if let object { defaults.set(object, forKey: key) }
    }
}
