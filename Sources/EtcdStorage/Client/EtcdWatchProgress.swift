/// How far a watch has come, and what each message from etcd means for it: the decisions of ``EtcdWatch``, without its connections.
///
/// Whatever the connections do, each revision is delivered at most once, whole, and in rising order. A member's progress answers never
/// move the watch forward: in etcd before 3.4.25 they can overtake events.
struct WatchProgress: Sendable {
    /// What a message means.
    enum Outcome: Sendable, Hashable {
        /// The watch has begun.
        case created
        /// Revisions with all their events, in order; may be none.
        case events([Revision])
        /// The member reports an older revision than was delivered: it may be late, or the history may be another one.
        case isBehind
        /// What was delivered has no continuation here: everything has to be read anew.
        case reset
        /// The watch has ended.
        case ended(EtcdFailure)
    }

    /// All events of a revision.
    struct Revision: Sendable, Hashable {
        /// The revision.
        let number: Int64
        /// The events, in etcd's order.
        var events: [WatchEvent]
    }

    /// The cluster whose history is followed.
    let clusterID: UInt64
    /// The last revision of which everything was delivered.
    private(set) var revision: Int64
    // The revision of each key as it was delivered, to be compared with what etcd has.
    private var modRevisions: [[UInt8]: Int64] = [:]
    // The last revision of a message that continues in the next one, and the bytes of memory that its events take.
    private var incomplete: Revision?
    private var incompleteSize = 0
    // How many these may be.
    private let memoryLimit: Int
    /// Whether nothing was delivered between the last two answers to heartbeats.
    private(set) var isQuiet = false
    // What was delivered before the last answer to a heartbeat; nil before the first one of a connection.
    private var answeredRevision: Int64?
    // The keys that differed in the last comparison, with what was delivered of them then.
    private var suspects: [[UInt8]: Int64?] = [:]

    /// Begins at everything that etcd had at one revision.
    ///
    /// - Parameter memoryLimit: how many bytes of memory the events of one revision may take; everything is read anew instead.
    init(after snapshot: EtcdSnapshot, memoryLimit: Int = .max) {
        clusterID = snapshot.clusterID
        revision = snapshot.revision
        self.memoryLimit = memoryLimit
        modRevisions.reserveCapacity(snapshot.keyValues.count)
        for keyValue in snapshot.keyValues { modRevisions[keyValue.key] = keyValue.modRevision }
    }

    /// Prepares for the messages of a new connection, which begin after ``revision``.
    mutating func reconnect() {
        (incomplete, answeredRevision, isQuiet) = (nil, nil, false)
    }

    /// Decides what a message means, and notes what will be delivered.
    mutating func receive(_ response: WatchResponse) -> Outcome {
        // Only a member of another cluster says so: without a header it is zero.
        if response.header.clusterID != 0, response.header.clusterID != clusterID { return .reset }
        if let failure = response.failure { return failure.isCompacted ? .reset : .ended(failure) }
        if response.isCreated { return .created }
        if response.isProgress {
            (isQuiet, answeredRevision) = (answeredRevision == revision, revision)
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
        for revision in revisions { note(revision) }
        return .events(revisions)
    }

    private mutating func note(_ revision: Revision) {
        self.revision = revision.number
        for event in revision.events { modRevisions[event.keyValue.key] = event.isDelete ? nil : revision.number }
    }
}

// MARK: - Comparison

extension WatchProgress {
    /// What a comparison with etcd has shown.
    enum Comparison: Sendable, Hashable {
        /// Everything was delivered.
        case isComplete
        /// There are differences that events on their way may explain: it has to be compared again after a moment.
        case isSuspect
        /// Events were lost.
        case isLost
        /// The history is another one.
        case isReplaced
    }

    /// Whether something differed in the last comparison, which has to be repeated.
    var hasSuspects: Bool { !suspects.isEmpty }

    /// Compares the keys as they were delivered with those that etcd has at present.
    ///
    /// Events are lost if a key differs in two consecutive comparisons, and no event of it was delivered in between.
    mutating func compare(with snapshot: EtcdSnapshot) -> Comparison {
        guard snapshot.clusterID == clusterID, snapshot.revision >= revision else { return .isReplaced }
        let earlier = suspects
        suspects = differences(from: snapshot)
        let isLost = suspects.contains { key, delivered in earlier[key] == .some(delivered) }
        return isLost ? .isLost : suspects.isEmpty ? .isComplete : .isSuspect
    }

    private func differences(from snapshot: EtcdSnapshot) -> [[UInt8]: Int64?] {
        var rest = modRevisions
        var differences: [[UInt8]: Int64?] = [:]
        for keyValue in snapshot.keyValues {
            let delivered = rest.removeValue(forKey: keyValue.key)
            if delivered != keyValue.modRevision { differences.updateValue(delivered, forKey: keyValue.key) }
        }
        for (key, delivered) in rest { differences.updateValue(delivered, forKey: key) }
        return differences
    }
}
