/// Determines which names of a domain of user defaults are observed individually.
///
/// A state machine that returns the observers to add and to remove. Each observer is added at most once, and removed under a name of the
/// same bytes, or key-value observing would raise an exception.
struct DefaultsObservation: Sendable {
    /// The observers to remove, and then those to add.
    struct Actions: Sendable, Equatable {
        var removed: [String] = []
        var added: [String] = []
    }

    /// The maximum number of observed names without a stored value: a program may read any number of names.
    static let maximumUnstored = 1000

    private var watches = 0
    private var users = 0
    private var stored: Set<String> = []
    private var used: Set<String> = []
    private(set) var observed: Set<String> = []

    /// Whether a name can be observed by its key path.
    ///
    /// A dot separates the keys of a path, and a leading at sign is an operator: changes of such names are never reported
    /// (pointfreeco/swift-composable-architecture#3487, ReactiveX/RxSwift#1478). Those by other processes are found when the domain is read
    /// for another reason.
    static func isObservable(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && bytes.first != UInt8(ascii: "@") && !bytes.contains(UInt8(ascii: "."))
    }

    mutating func beginWatch() -> Actions {
        watches += 1
        return update()
    }

    /// Records that a watch of the domain ends: names are observed only while there is one.
    mutating func endWatch() -> Actions {
        watches -= 1
        return update()
    }

    /// Records that a store may use names, even before its watch begins.
    mutating func beginUse() -> Actions {
        users += 1
        return update()
    }

    /// Records the end of a store. The names that it has used are known as long as there is another one, which may use them as well.
    mutating func endUse() -> Actions {
        users -= 1
        if users == 0 { used = [] }
        return update()
    }

    /// Records the names that are stored now. A name that is no longer stored is observed as long as the program uses it.
    mutating func setStored(_ names: Set<String>) -> Actions {
        stored = names.filter(Self.isObservable)
        return update()
    }

    /// Records names that the program reads or observes, which need not be stored yet.
    mutating func addUsed(_ names: [String]) -> Actions {
        var unstored = used.subtracting(stored).count
        for name in names where Self.isObservable(name) && !used.contains(name) {
            if !stored.contains(name) {
                guard unstored < Self.maximumUnstored else { continue }
                unstored += 1
            }
            used.insert(name)
        }
        return update()
    }

    private mutating func update() -> Actions {
        let wanted = watches > 0 ? stored.union(used) : []
        // The members of `observed`, not those of `wanted` that are canonically equivalent.
        let actions = Actions(
            removed: observed.filter { !wanted.contains($0) }.sorted(), added: wanted.filter { !observed.contains($0) }.sorted())
        for name in actions.removed { observed.remove(name) }
        observed.formUnion(actions.added)
        return actions
    }
}
