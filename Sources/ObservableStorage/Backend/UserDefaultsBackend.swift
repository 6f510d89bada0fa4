public import Dispatch
public import Foundation
import PropertyListCoding

/// The entries of one domain of `UserDefaults`: what the application, or a suite, has stored, without registered, global or argument defaults.
///
/// Types are kept: booleans, integers and reals never mix. What Foundation cannot hold is refused with
/// ``StorageError/unencodable(key:reason:)``, and nothing of that edit is stored.
///
/// Stores on one domain in one process lose no edit of each other, and are told of changes by `UserDefaults.didChangeNotification`.
/// Foundation leaves out much of that on Linux, so that ``PropertyListFile``, or `ObservableStore(suiteName:)` on the same file, is
/// the better choice there:
///
/// - It posts the notification when a whole domain is replaced or removed only, never for `set` or `removeObject`. This backend posts it for
///   its own edits. Edits by others, and all edits by other processes, are found when the domain is next read, and nothing says when that is.
/// - It rewrites the file in place, without a lock or `fsync`, and sets its mode to 0600. Two processes that write at once, one that reads
///   meanwhile, or one that ends meanwhile, may lose entries. A file that it cannot read counts as an empty one.
/// - The file is XML: dates are cut to whole seconds, -0.0 is 0.0, and text that XML has no words for is refused. A dictionary like that of an
///   archive's UID, if another program wrote one, makes the whole domain read as empty.
/// - All domains of the process are written together: one that cannot be written makes edits of the others fail too.
public final class UserDefaultsBackend: StorageBackend, @unchecked Sendable {
    // Invariant of the unchecked conformance: nothing here changes after initialization, and the only calls made on `defaults` are
    // `set`, `removeObject`, `synchronize` and `persistentDomain`, which may be made from any thread and lock inside.
    private let defaults: UserDefaults
    private let domain: String

    /// Foundation may call observers inside an edit, and keeps one lock for all domains: so does this, for as long as no user's edit runs.
    private static let queue = DispatchQueue(label: "ObservableStorage.UserDefaultsBackend")
    private static let owner = LockOwner<Void>()
    /// Says in a notification's `userInfo` which domain has changed.
    private static let changedDomain = "ObservableStorage.domain"

    /// Names the domain in errors.
    public var name: String {
        "UserDefaults \(domain)"
    }

    /// Takes user defaults and the name of their domain, which they do not tell.
    ///
    /// - Parameters:
    ///   - defaults: what edits are made on.
    ///   - domain: the name that `defaults` were made with as a suite; for `UserDefaults.standard`, see ``init()``.
    public init(_ defaults: UserDefaults, domain: String) {
        self.defaults = defaults
        self.domain = domain
    }

    /// Takes the application's own user defaults: the domain of its bundle's identifier, or else of its executable's name.
    public convenience init() {
        self.init(.standard, domain: Bundle.applicationDomain)
    }

    /// Takes the user defaults of a suite; nothing if Foundation has none of that name.
    public convenience init?(suiteName: String) {
        // Foundation keeps the application's domain apart from a suite of the same name, although both are one file.
        let isOwn = suiteName == Bundle.applicationDomain
        guard let defaults = isOwn ? .standard : UserDefaults(suiteName: suiteName) else { return nil }
        self.init(defaults, domain: suiteName)
    }

    /// Reads the domain as it is now, with what other processes have stored.
    ///
    /// - Throws: ``StorageError`` when there is something in it that is no property list.
    public func load() throws -> StorageEntries {
        try Self.synchronized { try entries() }
    }

    /// Runs an edit on the domain, again if anything in it changed meanwhile, and stores what the edit changed and nothing else.
    ///
    /// - Returns: the entries as Foundation holds them, which cuts dates to whole seconds on Linux.
    /// - Throws: what the edit throws; ``StorageError`` when Foundation cannot hold a value, or cannot store the domain. Then all of it is as before.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            let before = try load()
            var entries = before
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return before }
            let edits = try Self.edits(from: before, to: entries)
            // The edit is the user's and ran outside the queue: it runs again if somebody else was faster.
            guard let stored = try Self.synchronized({ try store(edits, over: before) }) else { continue }
            announce(defaults, [Self.changedDomain: domain])
            return stored
        }
    }

    /// True: an edit inside another one is made on its own.
    public var allowsNestedEdits: Bool { true }

    /// Reports that user defaults have changed, as far as Foundation or another backend of this kind tells.
    public func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        let life = Subscription()
        let tell: @Sendable () -> Void = {
            queue.async { if !life.isEnded { report(.changed) } }
        }
        // Safe because it is only passed back to the notification center, which any thread may do.
        nonisolated(unsafe) let observer = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { [domain] notification in
            // Foundation does not say which domain it is about; this backend does.
            if let changed = notification.userInfo?[Self.changedDomain] as? String, changed != domain { return }
            tell()
        }
        tell()
        return ObservationToken {
            life.end()
            NotificationCenter.default.removeObserver(observer)
        }
    }

    /// Runs a closure once all earlier ones have returned, or immediately if this thread is running one of them.
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

    /// Stores edits, unless the domain is no longer what they were made on.
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
        // Foundation on Linux keeps the number 1 where true or 1.0 is set, since they are equal to it.
        defaults.removeObject(forKey: key)
        if let object { defaults.set(object, forKey: key) }
    }
}
