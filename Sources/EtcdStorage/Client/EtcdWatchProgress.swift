/// The progress of a watch, and what each message from etcd means for it: the state machine of ``EtcdWatch``, without its connections.
///
/// Across reconnections, each revision is delivered at most once, completely, and in rising order. A member's progress responses never
/// advance the watch: in etcd before 3.4.25 they can overtake events.
struct WatchProgress: Sendable {
    enum Outcome: Sendable, Hashable {
        /// The watch has begun.
        case created
        /// Revisions with all their events, in order; may be empty.
        case events([Revision])
        /// The member reports an older revision than was delivered: it may lag behind, or the history may be another one.
        case isBehind
        /// The delivered revisions cannot be continued: all keys have to be read again.
        case reset
        case ended(EtcdFailure)
    }

    struct Revision: Sendable, Hashable {
        let number: Int64
        var events: [WatchEvent]
    }

    let clusterID: UInt64
    /// The last revision that was delivered completely.
    private(set) var revision: Int64
    /// The revision with which a watch begins: the last delivered one, because etcd, compacted up to the beginning of a watch, omits
    /// removals there without an error; after a snapshot the next one, because etcd sends old revisions every 100 ms only.
    private(set) var startRevision: Int64
    /// The key that was written last, with the value and the revision that were delivered; nil if none is known.
    private(set) var lastWritten: KeyValue?
    // The delivered revision of each key, for comparisons with etcd.
    private var modRevisions: [[UInt8]: Int64] = [:]
    // The last revision of a message that is continued by the next one, and the memory that its events take in bytes.
    private var incomplete: Revision?
    private var incompleteSize = 0
    private let memoryLimit: Int
    /// Whether nothing was delivered between the last two responses to heartbeats.
    private(set) var isQuiet = false
    // The delivered revision at the last response to a heartbeat; nil before the first one of a connection.
    private var heartbeatRevision: Int64?
    // The keys that differed in the last comparison, and of which no event was delivered since.
    private var suspects: Set<[UInt8]> = []

    /// Begins at a snapshot.
    ///
    /// - Parameter memoryLimit: the maximum memory for the events of one revision in bytes; beyond it, all keys are read again.
    init(after snapshot: EtcdSnapshot, memoryLimit: Int = .max) {
        clusterID = snapshot.clusterID
        (revision, startRevision) = (snapshot.revision, snapshot.revision + 1)
        lastWritten = snapshot.keyValues.max { $0.modRevision < $1.modRevision }
        self.memoryLimit = memoryLimit
        modRevisions.reserveCapacity(snapshot.keyValues.count)
        for keyValue in snapshot.keyValues { modRevisions[keyValue.key] = keyValue.modRevision }
    }

    /// Prepares for the messages of a new connection, which begin with ``revision``.
    mutating func reconnect() {
        (startRevision, incomplete, heartbeatRevision, isQuiet) = (max(revision, 1), nil, nil, false)
    }

    /// Whether a watch has begun after others have written, and perhaps compacted, what follows the snapshot: it has to be resumed.
    func isLate(_ response: WatchResponse) -> Bool {
        response.isCreated && response.failure == nil && startRevision > revision && response.header.revision > revision
    }

    /// Determines the meaning of a message, and marks its revisions as delivered.
    mutating func receive(_ response: WatchResponse) -> Outcome {
        // Without a header, the identifier is zero.
        if response.header.clusterID != 0, response.header.clusterID != clusterID { return .reset }
        if let failure = response.failure { return failure.isCompacted ? .reset : .ended(failure) }
        if response.isCreated { return .created }
        if response.isProgress {
            (isQuiet, heartbeatRevision) = (heartbeatRevision == revision, revision)
            return response.header.revision < revision ? .isBehind : .events([])
        }
        isQuiet = false
        return deliver(response.events, isFragment: response.isFragment)
    }

    private mutating func deliver(_ events: [WatchEvent], isFragment: Bool) -> Outcome {
        var revisions: [Revision] = []
        for event in events {
            let number = event.keyValue.modRevision
            if let last = incomplete?.number, number < last { return .reset }
            guard number > revision else { continue }
            if number != incomplete?.number {
                if let complete = incomplete { revisions.append(complete) }
                (incomplete, incompleteSize) = (Revision(number: number, events: []), 0)
            }
            incomplete?.events.append(event)
            incompleteSize += event.memorySize
            guard incompleteSize <= memoryLimit else { return .reset }
        }
        if !isFragment, let complete = incomplete {
            revisions.append(complete)
            incomplete = nil
        }
        for revision in revisions { markDelivered(revision) }
        return .events(revisions)
    }

    private mutating func markDelivered(_ revision: Revision) {
        self.revision = revision.number
        // Of a transaction of this library, that is the token, whose value is not used again.
        if let written = revision.events.last(where: { !$0.isDelete }) { lastWritten = written.keyValue }
        for event in revision.events {
            modRevisions[event.keyValue.key] = event.isDelete ? nil : revision.number
            suspects.remove(event.keyValue.key)
        }
    }
}

// MARK: - Comparison

extension WatchProgress {
    enum Comparison: Sendable, Hashable {
        case isComplete
        /// There are differences, perhaps because events are in transit: another comparison has to follow soon.
        case isSuspect
        case isLost
        case isReplaced
    }

    /// Whether the last comparison has found differences, and has to be repeated.
    var hasSuspects: Bool { !suspects.isEmpty }

    /// Compares the delivered keys with those in etcd.
    ///
    /// Events are lost if a key differs in two consecutive comparisons without an event in between.
    mutating func compare(with snapshot: EtcdSnapshot) -> Comparison {
        guard snapshot.clusterID == clusterID, snapshot.revision >= revision else { return .isReplaced }
        let earlier = suspects
        suspects = differences(from: snapshot)
        return !suspects.isDisjoint(with: earlier) ? .isLost : suspects.isEmpty ? .isComplete : .isSuspect
    }

    private func differences(from snapshot: EtcdSnapshot) -> Set<[UInt8]> {
        var rest = modRevisions
        var differences: Set<[UInt8]> = []
        for keyValue in snapshot.keyValues where rest.removeValue(forKey: keyValue.key) != keyValue.modRevision {
            differences.insert(keyValue.key)
        }
        return differences.union(rest.keys)
    }
}
