import Observation
import PropertyListCoding
import Synchronization

/// Edits by the name of the entry: the value that is set, nil for a removal.
typealias EntryEdits = [String: PropertyListValue?]

/// What a store holds under one name: its value, the edit that is not on disk yet, what has been read of it, and who observes it.
///
/// A store has one for each name that has been read, written or observed. Keys know where in the table it stands, and keep what
/// they have read of it.
final class Entry: Observable, @unchecked Sendable {
    // Sendable because `content` is used only while the lock of the entry's store is held; everything else is constant, atomic or locked.

    /// Tells this entry from every other one that the process ever had, also of the same name.
    let id = UniqueNumber.next()
    let name: String
    /// The memory of the store that it belongs to; see ``EntryCache/id``.
    let store: UInt64
    /// Used only while the lock of the store is held, which is all the exclusivity it needs: checks at run time are a tenth of a write.
    @exclusivity(unchecked) var content: Content

    private let changes = Atomic<UInt64>(0)
    // Those of the keys that have read the entry.
    private let caches = Lock<(known: [ReadingCache], sweepThreshold: Int)>(([], 4))
    // Observation tracks the entry as a property without a value, accessed when the entry is read, mutated when it changes.
    private let registrar = ObservationRegistrar()
    private let path = Entry.observedPath
    private let wasAccessed = Atomic(false)
    // Made for the first change.
    private let observationQueue = Lock<DeliveryQueue?>(nil)

    init(_ name: String, store: UInt64, value: PropertyListValue? = nil) {
        self.name = name
        self.store = store
        content = Content(value: value)
    }

    /// How often what reading the entry gives has changed. What was read at a version holds for as long as the version stays the same.
    var version: UInt64 {
        changes.load(ordering: .sequentiallyConsistent)
    }

    /// Counts a change. Called where the order of changes is decided.
    func noteChange() {
        changes.add(1, ordering: .sequentiallyConsistent)
    }

    /// Puts another value in place; returns false if it is the same.
    ///
    /// - Parameters:
    ///   - replaced: the value, nil for none; afterwards what was there.
    ///   - edit: the revision of the edit, if it is still to be written, or 0.
    ///   - revision: the revision in which the value comes.
    ///   - type: the type that a key whose codec runs no user code sets it as.
    ///   - condition: what still has to be stored when it is written.
    ///   - principal: the entry whose edit this one is a part of, if it is that of another one.
    func exchange(
        _ replaced: inout Replaced, edit: UInt64, revision: UInt64, type: ObjectIdentifier? = nil, condition: EntryEdits? = nil,
        principal: String? = nil
    ) -> Bool {
        guard content.value != replaced.value else {
            // Set anew, what was made of another value is a value of its own.
            if edit != 0, condition == nil, content.pendingRevision != 0 { content.condition = nil }
            return false
        }
        swap(&content.value, &replaced.value)
        replaced.earlier = content.history.earlier
        content.history.replaced(replaced.value, isRemoval: content.value == nil, isEdit: edit != 0, type: type, revision: revision)
        if edit != 0 {
            content.pendingRevision = edit
            if condition != nil || content.condition != nil { content.condition = condition }
            if principal != nil || content.principal != nil { content.principal = principal }
        }
        noteChange()
        return true
    }
}

extension Entry {
    /// The value that goes into an entry, and afterwards the one that came out: swapped, because copying took half of the time of a write.
    /// And what had been there before that one, for readers who cannot decode it.
    typealias Replaced = (value: PropertyListValue?, earlier: [PropertyListValue])

    /// What the store's lock guards.
    struct Content {
        fileprivate(set) var value: PropertyListValue?
        var history = EntryHistory()
        /// Those who observe the entry, also those of another one that falls back to this one; one for each key.
        var observers: [any EntryObservers] = []
        /// Tells the edit that is not on disk yet from an earlier one; 0 if there is none.
        fileprivate(set) var pendingRevision: UInt64 = 0
        // Nil for an edit by a user.
        fileprivate var condition: EntryEdits?
        fileprivate var principal: String?

        init(value: PropertyListValue? = nil) {
            self.value = value
        }

        /// The edit that is not on disk yet.
        var pending: PendingEdit? {
            pendingRevision == 0
                ? nil : PendingEdit(value: value, condition: condition ?? [:], principal: principal, revision: pendingRevision)
        }

        /// Whether there is nothing to keep.
        var isVacant: Bool {
            value == nil && pendingRevision == 0 && observers.isEmpty
        }

        /// Forgets an edit that is on disk now, unless the entry has been edited anew.
        mutating func noteStored(_ edit: PendingEdit) {
            guard pendingRevision == edit.revision else { return }
            (pendingRevision, condition, principal) = (0, nil, nil)
        }
    }
}

// What has been read belongs to the entry, so that it goes with the entry and its store, however long the keys live that it was read with.
extension Entry {
    /// What a codec decoded at a version, with whichever key.
    func reading(at version: UInt64, by codec: UInt64) -> Reading? {
        caches.withLock { caches -> Reading? in
            for cache in caches.known {
                if let reading = cache.reading(of: self, at: version, by: codec) { return reading }
            }
            return nil
        }
    }

    /// Knows a cache from now on that holds what was read of the entry.
    func add(_ cache: ReadingCache) {
        caches.withLock { caches in
            guard !caches.known.contains(where: { $0 === cache }) else { return }
            if caches.known.count >= caches.sweepThreshold {
                // Keys may be made without end: those go whose key has gone, which has emptied them.
                caches.known = caches.known.filter { !$0.isEmpty }
                caches.sweepThreshold = max(4, caches.known.count * 2)
            }
            caches.known.append(cache)
        }
    }

    /// Releases everything that has been read. Not to be called while a lock is held: a user-defined deinit may run.
    func releaseReadings() {
        let known = caches.take { caches in
            defer { caches = ([], 4) }
            return caches.known
        }
        for cache in known { cache.release(of: self) }
    }
}

// Observation.
extension Entry {
    // Making a key path anew costs more than all the rest of a reading, and asking whether it is made already costs a third of it.
    private static let observedPath: any KeyPath<Entry, Void> & Sendable = \.observed

    private var observed: Void { () }

    /// Whether Observation has ever tracked a reading of the entry. Asked for after a change has been counted.
    var isTracked: Bool {
        wasAccessed.load(ordering: .sequentiallyConsistent)
    }

    /// Has Observation track that the entry is read. Comes before the reading, so that no change falls between the two.
    func access() {
        if !wasAccessed.load(ordering: .relaxed) { wasAccessed.store(true, ordering: .sequentiallyConsistent) }
        registrar.access(self, keyPath: path)
    }

    /// Queues telling Observation that the entry has changed.
    func postMutation(to deliveries: inout Deliveries) {
        let made = observationQueue.withLock { queue in
            let made = queue ?? DeliveryQueue(group: store, .listening)
            queue = made
            return made
        }
        deliveries.append(to: made) { [self] in registrar.withMutation(of: self, keyPath: path) {} }
    }
}

/// An edit that is in memory only.
struct PendingEdit: Sendable {
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// What still has to be stored when the edit is written, for one that was made of it; empty for an edit by a user.
    let condition: EntryEdits
    /// The entry whose edit this one is a part of, if it is that of another one: an earlier name that is given up.
    var principal: String?
    /// Tells the edit from an earlier one of the same entry.
    let revision: UInt64

    /// Whether another edit is taken back with this one: a key that was renamed and is set gives up its old entry, both or neither.
    func takes(along other: PendingEdit, of key: String, _ otherKey: String) -> Bool {
        other.revision == revision || other.principal == key || principal == otherKey
    }

    /// Whether the edit counts, given what is stored under a name.
    func counts(over stored: (String) -> PropertyListValue?) -> Bool {
        condition.allSatisfy { stored($0.key) == $0.value }
    }
}
