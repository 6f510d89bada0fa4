import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding

/// The one instance of `UserDefaults` for a domain in this process, and the observation of its entries.
///
/// It is never released: key-value observing needs the same instance for all observers of a suite, and an observer that is released while
/// another thread notifies it crashes (google/google-toolbox-for-mac#238, sindresorhus/Defaults#161).
final class SharedDefaults: @unchecked Sendable {
    // Invariant of the unchecked conformance: `defaults` is constant and may be used on any thread; `observation` and `observer` are used on
    // the queue only, after initialization.

    /// Removes and adds observers of names. Called on the queue.
    typealias KeyObserver = @Sendable (DefaultsObservation.Actions) -> Void

    private static let domains = Lock<[String: SharedDefaults]>([:])

    let defaults: UserDefaults
    private let queue = DispatchQueue(label: "ObservableStorage.SharedDefaults")
    private var observation = DefaultsObservation()
    private var observer: KeyObserver?
    // Names that the observation has not received yet.
    private let used = Lock<[String]>([])
    private let reports = Lock<(next: UInt64, closures: [UInt64: @Sendable () -> Void])>((0, [:]))

    /// - Parameter makeObserver: creates the observer of names, which calls a closure for each change; nil if names cannot be observed.
    init(_ defaults: UserDefaults, makeObserver: (_ report: @escaping @Sendable () -> Void) -> KeyObserver?) {
        self.defaults = defaults
        observer = makeObserver { [weak self] in self?.report() }
    }

    /// The shared instance for a domain, created with the result of a closure if there is none.
    static func of(_ domain: String, orWith defaults: () -> UserDefaults?) -> SharedDefaults? {
        if let known = domains.withLock({ $0[domain] }) { return known }
        // Foundation's initializer does not run under the lock.
        return defaults().map { of(domain, with: $0) }
    }

    /// The shared instance for a domain, created with the given user defaults if there is none.
    static func of(_ domain: String, with defaults: UserDefaults) -> SharedDefaults {
        domains.object(of: domain) { SharedDefaults(defaults) { observer(of: defaults, report: $0) } }
    }

    /// Calls a closure after any observed entry was changed, by any process, until the token is cancelled or released.
    ///
    /// Foundation may call the closure while it holds locks: it must only signal.
    func watch(_ report: @escaping @Sendable () -> Void) -> ObservationToken {
        let number = reports.withLock { reports in
            reports.next += 1
            reports.closures[reports.next] = report
            return reports.next
        }
        change { $0.beginWatch() }
        return ObservationToken { [self] in
            // Released after unlocking.
            reports.take { $0.closures.removeValue(forKey: number) }
            change { $0.endWatch() }
        }
    }

    /// Records the entries that are stored now.
    func setStored(_ values: [String: PropertyListValue]) {
        change { $0.setStored(Set(values.keys)) }
    }

    /// Receives the names that a store uses, until it is released with the store.
    func makeUse() -> @Sendable (String) -> Void {
        change { $0.beginUse() }
        let end = ObservationToken { [self] in change { $0.endUse() } }
        return { [self] name in withExtendedLifetime(end) { addUsed(name) } }
    }

    /// Records a name that the program reads or observes; together with others, as everything is read once more afterwards.
    func addUsed(_ name: String) {
        guard observer != nil else { return }
        let isFirst = used.withLock { names in
            names.append(name)
            return names.count == 1
        }
        if isFirst { change { [self] in $0.addUsed(used.exchange([])) } }
    }

    // In order, on a queue: the thread that reads or writes may hold a lock for which an observer of the program waits inside Foundation.
    private func change(_ body: @escaping @Sendable (inout DefaultsObservation) -> DefaultsObservation.Actions) {
        guard let observer else { return }
        queue.async { [self] in
            let actions = body(&observation)
            observer(actions)
            // Changes before the names were observed are found by reading once more.
            if !actions.added.isEmpty { report() }
        }
    }

    private func report() {
        for closure in reports.withLock({ Array($0.closures.values) }) { closure() }
    }
}
