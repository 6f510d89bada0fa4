import Dispatch
import FoundationSubset

/// The stores of this process, whose pending edits are written at the end of the process.
final class StoreRegistry: Sendable {
    /// How long the end of the process waits for pending edits.
    static let exitTimeout = Lock(Duration.seconds(2))

    // A store that is being deinitialized cannot be retained any more, and may still have edits to write.
    private typealias Member = (lastWrite: LastWrite, store: WeakReference<Synchronizer>)

    /// Besides its stores, whether the process is in the background, where those in containers of app groups lock their files only during
    /// an activity, and the deadline of all writes at the end of the process; nil before that has begun.
    private let state = Lock<(members: [ObjectIdentifier: Member], isInBackground: Bool, deadline: DispatchTime?)>(([:], false, nil))
    private let lastWrites = DispatchGroup()
    // A forked child has none of the threads of Dispatch, and its pending edits are those of the parent.
    private let process = getpid()

    /// The stores of the process; first use registers their last writes with `atexit`.
    static let all: StoreRegistry = {
        atexit { StoreRegistry.all.writeAll(isExit: true) }
        return StoreRegistry()
    }()

    /// Whether the process is exiting, so that values set now, by another handler of `atexit`, have to be written immediately.
    var isEnding: Bool {
        state.withLock { $0.deadline != nil }
    }

    /// Whether this is a forked child of the process, which writes nothing.
    var isForkedChild: Bool {
        getpid() != process
    }

    /// The error of a storage that cannot be written because this is a forked child; nil if it is not.
    func forkError(of name: String) -> StorageError? {
        guard isForkedChild else { return nil }
        let reason = """
            a store was opened before this process was forked, and a forked child writes nothing; fork before that, or execute a program in \
            the child
            """
        return .unwritable(file: name, reason: reason)
    }

    func add(_ store: Synchronizer) {
        let member = (store.lastWrite, WeakReference(store))
        state.withLock { state in
            state.members[ObjectIdentifier(store)] = member
            // Under the lock, so that it does not miss the end of the background.
            if state.isInBackground { store.setInBackground(true) }
        }
    }

    func remove(_ store: ObjectIdentifier) {
        state.take { $0.members.removeValue(forKey: store) }
    }

    var stores: [Synchronizer] {
        // Moved out of the lock: releasing the last reference to a store runs its deinit.
        state.take { $0.members.values.compactMap(\.store.object) }
    }

    /// Records whether the process is in the background; returns whether that is new.
    ///
    /// - Parameter enqueue: queues what is to be done with the open stores.
    func setInBackground(_ isInBackground: Bool, _ enqueue: ([Synchronizer]) -> Void) -> Bool {
        state.take { state -> (Bool, [Synchronizer]) in
            if state.isInBackground == isInBackground { return (false, []) }
            state.isInBackground = isInBackground
            let stores = state.members.values.compactMap(\.store.object)
            // Under the lock, as in `add(_:)`, and in the order of the calls.
            for store in stores { store.setInBackground(isInBackground) }
            enqueue(stores)
            return (true, stores)
        }.0
    }

    /// Makes the last write of a released store, and calls a closure afterwards; the end of the process waits for it.
    func write(_ lastWrite: LastWrite, _ completion: @escaping @Sendable () -> Void) {
        lastWrite.start(in: lastWrites, during: lastWrite.storage.activity, completion: completion)
    }

    /// Writes the pending edits of a store, within the time limit of the end of the process.
    func writeAtEnd(_ store: LastWrite) {
        write([store], until: state.withLock { $0.deadline } ?? .now())
    }

    /// Writes the pending edits of all stores, within the time limit of the end of the process, which may continue unless it exits.
    func writeAll(isExit: Bool = false) {
        guard !isForkedChild else { return }
        let deadline = DispatchTime.after(Self.exitTimeout.withLock { $0 })
        let stores = state.withLock { state in
            if isExit { state.deadline = deadline }
            return state.members.values.map(\.lastWrite)
        }
        // Edits that other handlers of `atexit` make now are written, also by stores that were suspended, or whose attempt was scheduled.
        if isExit { for store in stores { store.cache.update { $0.flushes = FlushSchedule() } } }
        write(stores, until: deadline)
        FailureReports.logAllUndelivered()
    }

    private func write(_ stores: [LastWrite], until deadline: DispatchTime) {
        let group = DispatchGroup()
        for store in stores { store.startBeforeExit(in: group) }
        let isWritten = group.wait(timeout: deadline) == .success && lastWrites.wait(timeout: deadline) == .success
        if !isWritten { stores.forEach { $0.reportUnwritten() } }
    }
}
