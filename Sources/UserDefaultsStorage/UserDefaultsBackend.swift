public import Dispatch
public import Foundation
public import ObservableStorage

/// The entries of one domain of `UserDefaults`: those stored by the application, or a suite, without registered, global or argument
/// defaults.
///
/// Types are preserved: booleans, integers and reals remain distinct. A value that Foundation cannot represent is rejected with
/// `StorageError.unencodable`, and nothing of that edit is stored.
///
/// Stores of one domain in one process do not lose each other's edits, and are notified of changes by `UserDefaults.didChangeNotification`.
/// On Apple's systems, changes by other processes, such as those of an application group, are reported for each name that is stored, or
/// that a store uses. Names that contain a dot or begin with an at sign are an exception, because key-value observing cannot observe them:
/// their changes by other processes are found when the application becomes active (not on watchOS), or the domain is read for another
/// reason.
///
/// Foundation implements only a part of this on Linux, so that `PropertyListFile`, or `ObservableStore(suiteName:)` on the same file, is
/// preferable there:
///
/// - It posts the notification only when a whole domain is replaced or removed, never for `set` or `removeObject`. This backend posts it
///   for its own edits, soon after them, on a queue of its own. Edits by others, and all edits by other processes, are found when the domain
///   is next read, at an unspecified time.
/// - It rewrites the file in place, without a lock or `fsync`, and sets its mode to 0600. Two processes that write at the same time, or one
///   that reads or exits meanwhile, may lose entries. A file that it cannot read is treated as empty.
/// - The file is XML: dates are truncated to whole seconds, -0.0 becomes 0.0, and text that XML cannot represent is rejected. A dictionary
///   like that of an archive's UID, if another program wrote one, makes the whole domain read as empty.
/// - All domains of the process are written together: if one cannot be written, edits of the others fail as well.
public final class UserDefaultsBackend: BlockingStorageBackend, CommittingBackend, @unchecked Sendable {
    // Invariant of the unchecked conformance: nothing here changes after initialization, and `defaults` is used only for reading, setting
    // and removing values, `synchronize`, and observing, which are thread-safe.
    let defaults: UserDefaults
    private let domain: String
    private let shared: SharedDefaults

    /// One queue for all domains, as Foundation has one lock for all and may call observers inside an edit. No user code runs on it.
    private static let queue = DispatchQueue(label: "ObservableStorage.UserDefaultsBackend")
    private static let owner = LockOwner<Void>()
    /// The key in a notification's `userInfo` for the name of the changed domain.
    private static let changedDomain = "ObservableStorage.domain"

    /// The name of the domain in errors.
    public var name: String { "UserDefaults \(domain)" }

    /// Creates a backend for user defaults and the name of their domain, which they do not expose.
    ///
    /// - Parameters:
    ///   - defaults: the user defaults to read and edit.
    ///   - domain: the name with which `defaults` were created as a suite; for `UserDefaults.standard`, see ``init()``.
    public convenience init(_ defaults: UserDefaults, domain: String) {
        let shared = SharedDefaults.of(domain, with: defaults)
        self.init(defaults, domain: domain, shared: shared)
    }

    init(_ defaults: UserDefaults, domain: String, shared: SharedDefaults) {
        self.defaults = defaults
        self.domain = domain
        self.shared = shared
    }

    /// Creates a backend for the application's own user defaults: the domain of its bundle identifier, or else of its executable's name.
    public convenience init() {
        self.init(.standard, domain: Bundle.applicationDomain)
    }

    /// Creates a backend for the user defaults of a suite; returns nil if Foundation has none of that name.
    public convenience init?(suiteName: String) {
        // Foundation has separate instances for the application's domain and a suite of the same name, although both use one file.
        let isOwn = suiteName == Bundle.applicationDomain
        guard
            let shared = SharedDefaults.of(suiteName, orWith: { isOwn ? .standard : UserDefaults(suiteName: suiteName) })
        else { return nil }
        self.init(shared.defaults, domain: suiteName, shared: shared)
    }

    /// Reads the current content of the domain, including values stored by other processes.
    ///
    /// - Throws: `StorageError` if the domain contains an object that is not a property list.
    public func load() throws -> StorageEntries {
        try Self.synchronized { try entries() }
    }

    /// Runs an edit on the domain, again if the domain changed meanwhile, and stores only the changes of the edit.
    ///
    /// - Returns: the entries as Foundation stores them, which truncates dates to whole seconds on Linux.
    /// - Throws: the error of the edit; `StorageError` if Foundation cannot represent a value, or store the domain. Then nothing changes.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            let before = try load()
            var entries = before
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return before }
            let edits = try Self.edits(from: before, to: entries)
            // The edit is user code, which ran outside the queue: it runs again if the domain has changed.
            guard let stored = try Self.synchronized({ try store(edits, over: before) }) else { continue }
            announce(defaults, [Self.changedDomain: domain])
            return stored
        }
    }

    /// The value as Foundation reads it back, after encoding and decoding it as Foundation stores it.
    ///
    /// - Throws: `StorageError.unencodable` if Foundation cannot represent the value.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        try Self.object(value, key: key).value
    }

    package var allowsNestedEdits: Bool { true }

    /// Reports changes of user defaults of which Foundation or another backend of this type notifies.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        // Combines notifications while the queue is busy, and reports nothing after it is cancelled. Safe because a source may be used on
        // any thread.
        nonisolated(unsafe) let source = DispatchSource.makeUserDataAddSource(queue: queue)
        source.setEventHandler { report(.changed) }
        source.activate()
        // Safe because it is only passed to the notification center, which is allowed on any thread.
        nonisolated(unsafe) let observer = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { [domain] notification in
            // Foundation does not name the changed domain; this backend does.
            if let changed = notification.userInfo?[Self.changedDomain] as? String, changed != domain { return }
            source.add(data: 1)
        }
        // Safe for the same reason.
        nonisolated(unsafe) let activations = Self.activations.map { name in
            NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in source.add(data: 1) }
        }
        let token = shared.watch { source.add(data: 1) }
        source.add(data: 1)
        return ObservationToken {
            source.cancel()
            token.cancel()
            for observer in [observer] + activations { NotificationCenter.default.removeObserver(observer) }
        }
    }

    /// The notifications after which unobservable names are compared: an application, or the host of an extension, became active. As
    /// strings, because their frameworks differ between Apple's systems; they are not posted on Linux.
    static let activations = [
        "NSApplicationDidBecomeActiveNotification", "UIApplicationDidBecomeActiveNotification",
        "UIApplicationWillEnterForegroundNotification", "NSExtensionHostDidBecomeActiveNotification",
    ].map { Notification.Name($0) }

    /// Runs a closure after all earlier ones, or immediately if this thread is running one of them.
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
        shared.setStored(values)
        return StorageEntries(values)
    }

    /// Stores edits, unless the domain has changed since they were made.
    private func store(_ edits: [Edit], over before: StorageEntries) throws(StorageError) -> StorageEntries? {
        guard try entries().changes(since: before).isEmpty else { return nil }
        for edit in edits { set(edit.object, for: edit.key) }
        guard defaults.synchronize() else {
            revert(edits, to: before.values)
            // Foundation may have stored these edits and failed in another domain, so the earlier values are stored again.
            defaults.synchronize()
            throw .unwritable(file: name, reason: "Foundation could not store it, or another domain of this process")
        }
        var values = before.values
        for edit in edits { values[edit.key] = edit.value }
        shared.setStored(values)
        return StorageEntries(values)
    }

    func set(_ object: Any?, for key: String) {
        guard let object else { return defaults.removeObject(forKey: key) }
        // Foundation might keep the number 1 if true or 1.0 is set, since they are equal.
        if Self.isHiddenByEquality(object, of: defaults.object(forKey: key)) { defaults.removeObject(forKey: key) }
        defaults.set(object, forKey: key)
    }
}

extension UserDefaultsBackend {
    /// Observes names that a store uses, which need not be stored yet.
    package var onUse: (@Sendable (String) -> Void)? { shared.makeUse() }
}

extension Bundle {
    /// The application's bundle identifier, or else the name of its executable: the name of its own domain.
    fileprivate static var applicationDomain: String { main.bundleIdentifier ?? ProcessInfo.processInfo.processName }
}
