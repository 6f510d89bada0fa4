import Synchronization

/// Related keys, as the properties of a type. Groups can be nested. A single key path leads through nested groups that are stored
/// properties, as in `settings.stored(\.debug.showConsole)`, or have no prefix: otherwise `settings.computed.stored(\.showConsole)`.
///
/// ```swift
/// struct AppKeys: KeyGroup {
///     let launchCount = StorageKey("launchCount", default: 0)
///     let debug = DebugKeys()
/// }
/// ```
///
/// A key or a nested group is a property of the following types, unless it has the name of one of their members. In that case, the compiler's
/// message is about the member, for example about its generic parameters:
///
/// - ``KeyedStore``: `addUpdateListener`, `anyValue`, `changes`, `check`, `customMirror`, `edit`, `remainingArguments`, `reset`, `snapshot`,
///   `snapshots`, `store`, `stored`, `storedValues`, `unknownOverrides`, `update`, `values`
/// - ``KeyedSnapshot``: `customMirror`, `isSet`, `snapshot`
/// - ``KeyedTransaction``: `transaction`
/// - ``ObservableValues``: `bindings`, `settings`
///
/// Only the property needs another name, not the entry: `let shop = StorageKey("store", default: "")`.
public protocol KeyGroup: Sendable {
    /// The prefix of the names of the group's keys, followed by a `/`; nil by default.
    ///
    /// In a prefix or a name, `/` and `~` are written as `~1` and `~0`, so that no two keys have the same name.
    var prefix: String? { get }

    /// Creates the keys.
    init()

    /// Checks values that depend on each other; by default, all are valid.
    ///
    /// ```swift
    /// func validate(_ snapshot: KeyedSnapshot<Self>) throws {
    ///     if snapshot.minimum > snapshot.maximum { throw RangeError() }
    /// }
    /// ```
    ///
    /// Setting a key through a ``KeyedStore``, an edit or a transaction, also to nil, fails if the values would not be valid afterwards, by the
    /// rule of each of its groups that has the key, by itself or in a nested group that is a stored property; removing it is not checked. It is
    /// checked again if another thread or process has changed a value of such a key meanwhile. If another process has stored values that are
    /// not valid, the properties of a ``KeyedStore``, snapshots and streams of several keys have the last valid ones, all of one revision, or
    /// else the defaults; those of a nested group depend on its own rule only, and those of other computed keys on no rule. What is stored is kept. `failures` reports the error, and
    /// ``KeyedStore/check(allowing:)`` throws it. Handles, streams and listeners of a single key, and the properties of views, have the stored
    /// value: see ``StorageKey/validated(_:)``. An edit is checked without overrides, see ``OverrideSource``, because other processes do not
    /// have them. The method is also called for the defaults, and on any thread, without a lock.
    func validate(_ snapshot: KeyedSnapshot<Self>) throws
}

extension KeyGroup {
    /// No prefix.
    public var prefix: String? { nil }

    /// Does nothing: all values are valid.
    public func validate(_ snapshot: KeyedSnapshot<Self>) throws {
        snapshot.table.calledDefaultRule.store(true, ordering: .relaxed)
    }
}

/// The application's keys, which any number of extensions declare.
///
/// ```swift
/// extension ApplicationKeys {
///     var volume: StorageKey<Double> { StorageKey(default: 0.8) }
/// }
/// ```
///
/// A view has them by their key paths: `@Stored(\.volume)`; other code through a ``KeyedStore``: `KeyedStore<ApplicationKeys>(.standard)`.
public struct ApplicationKeys: KeyGroup {
    /// Creates the keys.
    public init() {}
}

/// A key of a group, and the same with its name in a store.
typealias NamedKey = (original: any AnyStorageKey, named: any AnyStorageKey)

extension KeyGroup {
    /// The keys that are stored properties of the group or of nested groups, and the same with their names in a store; computed ones cannot
    /// be found.
    func storageKeys(_ naming: KeyNaming) -> [NamedKey] {
        Mirror(reflecting: self).children.flatMap { child -> [NamedKey] in
            switch child.value {
            case let key as any AnyStorageKey: [(key, key.named(by: naming))]
            case let group as any KeyGroup: group.storageKeys(naming.inside(group.prefix))
            default: []
            }
        }
    }
}

extension KeyGroup {
    /// The naming in the innermost group through which a key path leads.
    ///
    /// The prefix of one that is no stored property of the group around it is not found: the path does not reveal it.
    func naming(at path: PartialKeyPath<Self>, in naming: KeyNaming) -> KeyNaming {
        // As `\AppKeys.debug.showConsole`; a computed property may be `<computed 0x000055c4b0b39d90 (StorageKey<Int>)>`.
        self.naming(at: path.debugDescription.dropFirst("\\\(Self.self).".count), in: naming) ?? naming
    }

    /// The same for the steps of a path; nil if one of the groups is not found.
    private func naming(at steps: Substring, in naming: KeyNaming) -> KeyNaming? {
        for child in Mirror(reflecting: self).children {
            guard let label = child.label, steps.hasPrefix(label + "."), let group = child.value as? any KeyGroup else { continue }
            return group.naming(at: steps.dropFirst(label.count + 1), in: naming.inside(group.prefix))
        }
        let isLast = steps.first == "<" ? !steps.contains(")>.") : steps.first { !($0.isLetter || $0.isNumber || $0 == "_") } != "."
        return isLast ? naming : nil
    }
}
