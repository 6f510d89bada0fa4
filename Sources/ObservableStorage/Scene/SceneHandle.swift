import Observation

/// A property of one object, in the scene in which the object was last found.
///
/// If the scene was discarded after the object was created, the value cannot be set, even if the scene was opened again since.
///
/// Before there is a scene, the value is the application's. A value set before is kept, and set in the scene by the first access after
/// there is one; for objects of UIKit and AppKit, at the latest at the first notification of their scene.
final class SceneHandle<Value: Sendable>: Observable, Sendable {
    private let key: StorageKey<Value>
    // Shows which scenes were discarded later.
    private let created = uniqueNumber()
    /// The value, and the handle in the scene, or in the application before there is one; created once for each.
    private let state = Lock<(property: SceneProperty<SceneStore, Value>, stored: StoredValue<Value>?)>((SceneProperty(), nil))
    private let registrar = ObservationRegistrar()
    private let path: any KeyPath<SceneHandle, Void> & Sendable = \.observed

    private let waitingScenes: WaitingScenes

    init(_ key: StorageKey<Value>, waitingScenes: WaitingScenes = .all) {
        (self.key, self.waitingScenes) = (key, waitingScenes)
    }

    deinit {
        // Nothing else refers to the state.
        let (isUnsaved, stored) = state.withLock { ($0.property.unsaved != nil, $0.stored) }
        guard isUnsaved else { return }
        waitingScenes.remove(self)
        stored?.store.reports.report(.unencodable(key: key.name, reason: "the object to which it belongs ended before it was in a scene"))
    }

    /// The value; Observation tracks reads.
    func value(for owner: some SceneStoring) -> Value {
        locate(owner)
        registrar.access(self, keyPath: path)
        let (stored, waiting) = settle(or: owner)
        return waiting ?? stored.value
    }

    /// Sets the value, or keeps it until there is a scene.
    func set(_ value: Value, for owner: some SceneStoring) {
        locate(owner)
        guard state.take({ $0.property.keep(value) }).isKept else { return settle(or: owner).stored.value = value }
        if settle(or: owner).waiting != nil { settleLater(owner) }
        notify()
    }

    /// The handle of the value in the scene, or in the application before there is one.
    func stored(for owner: some SceneStoring) -> StoredValue<Value> {
        locate(owner)
        return settle(or: owner).stored
    }

    /// The handle, if the value can be modified in the scene; nil if a modified value has to wait.
    func modifiable(for owner: some SceneStoring) -> StoredValue<Value>? {
        locate(owner)
        let (stored, waiting) = settle(or: owner)
        return waiting == nil && state.withLock({ $0.property.scene != nil }) ? stored : nil
    }

    // A property without a value for Observation, which changes when a value is kept, and when the object is in another scene.
    private var observed: Void { () }

    private func notify() {
        registrar.withMutation(of: self, keyPath: path) {}
    }
}

extension SceneHandle {
    /// Looks for the scene of the object, and creates the handle in it, or in the application if there was no scene yet.
    private func locate(_ owner: some SceneStoring) {
        let (last, known) = state.withLock { ($0.property.scene, $0.stored) }
        guard let scene = owner.sceneStore else {
            // An object that leaves its scene keeps using it.
            if last == nil { locate(in: owner.applicationStore, known) }
            return
        }
        if let last, last.isSame(as: scene) { return }
        let stored = scene.stored(key, ofObjectCreatedAt: created)
        state.take { state in
            defer { state.stored = stored }
            return (state.property.enter(scene), state.stored)
        }
        if known != nil { notify() }
    }

    private func locate(in application: ObservableStore, _ known: StoredValue<Value>?) {
        if let known, known.store === application { return }
        let stored = application.stored(key)
        state.take { state -> StoredValue<Value>? in
            // Another thread may have found a scene meanwhile.
            guard state.property.scene == nil else { return nil }
            defer { state.stored = stored }
            return state.stored
        }
    }

    /// Sets the value that waits after a notification that there may be a scene.
    private func settleLater<Owner: SceneStoring>(_ owner: Owner) {
        guard owner is any MainActorObject else { return }
        waitingScenes.add(self) { [weak self, weak owner] in
            guard let self, let owner else { return false }
            locate(owner)
            return settle(or: owner).waiting != nil
        }
    }

    /// Sets a value that has waited, if there is a scene now.
    ///
    /// - Returns: the handle in the scene or the application, and the value that still waits or that another call is setting.
    private func settle(or owner: some SceneStoring) -> (stored: StoredValue<Value>, waiting: Value?) {
        while true {
            let (access, located) = state.withLock { ($0.property.access(), $0.stored) }
            let stored = located ?? owner.applicationStore.stored(key)
            switch access {
            case .stored: return (stored, nil)
            case .waiting(let value): return (stored, value)
            case .move(let waiting):
                // Listeners that are called now read the waiting value, and what they set is set next.
                stored.value = waiting.value
                state.take { $0.property.moved(waiting.number) }
            }
        }
    }
}
