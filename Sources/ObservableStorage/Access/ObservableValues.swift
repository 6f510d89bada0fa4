public import Observation

/// The values of a group's keys for views, which observe each key separately; created by `@StoredGroup`, or by a model for its views.
///
/// ```swift
/// let settings = ObservableValues(KeyedStore<AppKeys>(.standard))
/// settings.volume = 0.5
/// settings.debug.showConsole = true
/// ```
///
/// Observation is notified on the main actor only: of a change made there, before its setter returns, so that `withAnimation` animates it;
/// of others, soon after. A ``KeyedStore`` is tracked as well, but its observers are notified on any thread.
@dynamicMemberLookup
public final class ObservableValues<Keys: KeyGroup>: Observable, Sendable {
    /// The same values for code that is not a view, with streams, listeners and transactions.
    public let settings: KeyedStore<Keys>

    // By the number of the key, and by the identity of the nested group's table.
    private let values = Lock<[UInt64: any AnyObject & Sendable]>([:])
    private let groups = Lock<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    /// Creates the values of a group. A key is observed after it was first read.
    public init(_ settings: KeyedStore<Keys>) {
        self.settings = settings
    }

    /// The value of a key; Observation tracks reads. A value that cannot be stored is reported in the store's `failures`.
    ///
    /// It is set and modified as in ``settings``. Of a group with a rule, it is the stored value also if that is not valid by the rule; see
    /// ``KeyGroup/validate(_:)``.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { value(path).value }
        set { value(path).value = newValue }
        _modify { yield &settings[dynamicMember: path] }
    }

    /// The values of a nested group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> ObservableValues<Group> {
        let nested = settings[dynamicMember: path]
        let object = groups.object(of: ObjectIdentifier(nested.table)) { ObservableValues<Group>(nested) }
        // The table of a nested group has its type.
        return unsafeDowncast(object, to: ObservableValues<Group>.self)
    }

    func value<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> MainActorValue<Value> {
        let stored = settings.stored(path)
        let object = values.object(of: stored.key.definition.id) { MainActorValue(stored) }
        // A key has one type.
        return unsafeDowncast(object, to: MainActorValue<Value>.self)
    }
}
