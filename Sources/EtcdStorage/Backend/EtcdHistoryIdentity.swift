/// Identifies the history of a prefix by a name, which is a part of the storage's revisions, and a random number in a reserved key.
///
/// etcd derives the identifier of a cluster from the addresses of its members. A cluster that has lost its data, or was restored from a
/// backup, may have the same identifier, and uses revisions again. So the first edit under a prefix writes a random number, which is a part
/// of the name. A process that finds that etcd's data does not continue what it knew writes another number with its next edit.
///
/// A history keeps its name as long as it is followed, so that the revisions of a store stay comparable: a backend that began before
/// another process wrote the number uses another name for the history than those that begin later.
struct EtcdHistoryIdentity: Sendable, Hashable {
    /// The part of a transaction that writes the number, and its condition: that no one else has written one.
    typealias Write = (compare: TxnRequest.Compare, put: TxnRequest.Operation)

    /// The name of the history in revisions of the storage.
    private(set) var name = ""
    private let cluster: String
    // The stored number, and the revision of its key, 0 if it is not stored. Any other value was not written by this library.
    private var stored: UInt64?
    private var modRevision: Int64 = 0
    // The number to write if none is stored, or if the stored one belongs to an earlier history.
    private var number = UInt64.random(in: .min ... .max)
    private var isOutdated = false
    private var hasEnded = false

    init(clusterID: UInt64) {
        cluster = String(clusterID, radix: 16)
    }

    /// The names of the history in this backend and in others.
    var names: Set<String> { [name, stored.map(name(of:)) ?? name] }

    private func name(of number: UInt64) -> String {
        cluster + "." + String(number, radix: 16)
    }

    // MARK: The key

    /// Updates the identity from the reserved key; nil if it is not stored.
    mutating func update(from keyValue: KeyValue?) {
        stored = keyValue.flatMap { UInt64(String(decoding: $0.value, as: UTF8.self), radix: 16) }
        modRevision = keyValue?.modRevision ?? 0
        isOutdated = false
        if let stored { number = stored }
    }

    /// What the next transaction has to write; nil if the number is stored already.
    func write(to key: [UInt8]) -> Write? {
        guard stored == nil || isOutdated else { return nil }
        let put = TxnRequest.Operation.put(key: key, value: Array(String(number, radix: 16).utf8))
        return (TxnRequest.Compare(key: key, modRevision: modRevision), put)
    }

    /// Whether a later identity can belong to the same history, which is known up to a revision.
    func isContinued(by later: Self, since revision: Int64) -> Bool {
        !hasEnded && later.cluster == cluster && (later.modRevision > revision || later.hasSameKey(as: self))
    }

    /// Ends the history: no later identity continues it.
    mutating func end() {
        hasEnded = true
    }

    private func hasSameKey(as other: Self) -> Bool {
        stored == other.stored && modRevision == other.modRevision
    }

    // MARK: The name

    /// Takes over the name of the identity that this one continues.
    mutating func resume(_ earlier: Self) {
        name = earlier.name
        isOutdated = earlier.isOutdated && hasSameKey(as: earlier)
        if stored == nil || isOutdated { number = earlier.number }
    }

    /// Begins a history.
    ///
    /// - Parameters:
    ///   - hasEntries: whether there are entries. Without a number, an older version of this library or another program has stored them.
    ///   - names: the names of earlier histories, which must not be used again.
    mutating func begin(hasEntries: Bool, avoiding names: Set<String>) {
        name = stored == nil && hasEntries ? cluster : name(of: number)
        guard names.contains(name) else { return }
        (number, isOutdated) = (UInt64.random(in: .min ... .max), true)
        name = name(of: number)
    }
}

extension TxnRequest {
    /// Adds what identifies the history, unless it is stored already.
    mutating func add(_ write: EtcdHistoryIdentity.Write?) {
        guard let write else { return }
        compares.append(write.compare)
        success.append(write.put)
    }
}

extension EntryKeys {
    var history: [UInt8] { reservedKey("history") }
}
