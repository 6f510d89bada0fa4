import Observation

/// The value of one key as views observe it.
///
/// Observation is notified on the main actor only: of a change made there, before its setter returns, so that `withAnimation` animates it;
/// of others, soon after; see ``StoredValue/addMainActorListener(initial:_:)``. Views that read only other keys are not notified.
final class MainActorValue<Value: Sendable>: Observable, Sendable {
    private typealias Connection = (id: StoredValueID, stored: StoredValue<Value>, token: ObservationToken)

    private let registrar = MainActorRegistrar()
    private let unconnected: @Sendable () -> StoredValue<Value>
    private let connection = Lock<Connection?>(nil)

    /// Creates a value that is not observed before it is connected.
    ///
    /// - Parameter unconnected: returns the stored value that is read and set until then.
    init(_ unconnected: @escaping @Sendable () -> StoredValue<Value>) {
        self.unconnected = unconnected
    }

    convenience init(_ stored: StoredValue<Value>) {
        self.init({ stored })
        connect(StoredValueID(store: stored.store, key: stored.key.definition.id)) { stored }
    }

    /// Connects to a stored value, and disconnects from the previous one; does nothing if the identifier is the same.
    ///
    /// May be called on any thread. If it replaces a connection, Observation is notified once, after it has returned, for views that only
    /// have a binding.
    ///
    /// - Parameters:
    ///   - id: identifies the stored value.
    ///   - makeStored: returns the stored value; called only for another identifier.
    func connect(_ id: StoredValueID, _ makeStored: () -> StoredValue<Value>) {
        guard connection.take({ $0?.id }) != id else { return }
        let stored = makeStored()
        let token = MainActorRegistrar.reading {
            stored.store.observe(stored.key, .mainActorListener { [weak registrar] _ in registrar?.notify() })
        }
        guard let previous = connection.exchange((id, stored, token)) else { return }
        previous.token.cancel()
        if previous.id != id { registrar.notifyLater() }
    }

    /// The value in the store, set and modified as there; Observation tracks reads.
    var value: Value {
        get {
            registrar.access()
            // Not `stored.value`: Observation would track the store's entry as well, which notifies on any thread.
            let stored = self.stored
            return MainActorRegistrar.reading { stored.store[stored.key] }
        }
        set {
            let stored = self.stored
            stored.store[stored.key] = newValue
        }
        _modify {
            let stored = self.stored
            yield &stored.store[stored.key]
        }
    }

    private var stored: StoredValue<Value> {
        connection.take { $0?.stored } ?? unconnected()
    }
}

/// Identifies a stored value without the key itself, so that none has to be created for a comparison.
struct StoredValueID: Equatable, @unchecked Sendable {
    // Sendable because a key path never changes.

    let store: ObservableStore
    /// The keys in which a key path is followed.
    var table: (any AnyObject & Sendable)?
    var scope: KeyScope?
    /// Identifies the key within these: its number, its name, or a key path.
    let key: AnyHashable

    static func == (left: StoredValueID, right: StoredValueID) -> Bool {
        left.store === right.store && left.table === right.table && left.scope == right.scope && left.key == right.key
    }
}
