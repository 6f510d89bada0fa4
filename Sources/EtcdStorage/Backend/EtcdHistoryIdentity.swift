/// Tells the histories of a prefix apart: the name that they have in revisions of the storage, and a reserved key with a random number.
///
/// etcd makes the identifier of a cluster from the addresses of its members. One that has lost its data, or was restored from a backup, can
/// have the same, and counts its revisions again. So the first edit under a prefix writes a random number, which is a part of the name; and
/// whoever sees that what etcd has does not continue what was known writes another one with the next edit.
///
/// A history keeps its name as long as it is followed, so that the revisions of a store stay comparable: a backend that has begun before
/// somebody else wrote the number has another name for the history than those that begin later.
struct EtcdHistoryIdentity: Sendable, Hashable {
    /// What a transaction needs to write the number.
    struct Write: Sendable {
        /// Holds while nobody else has written one.
        let compare: TxnRequest.Compare
        /// Writes the number.
        let put: PutRequest
    }

    /// Identifies the history in revisions of the storage.
    private(set) var name = ""
    private let cluster: String
    // The number that is stored, and the revision of its key, 0 if there is none. What is no number was not written by this library.
    private var stored: UInt64?
    private var modRevision: Int64 = 0
    // The number to be stored if there is none, or if the stored one is that of an earlier history.
    private var number = UInt64.random(in: .min ... .max)
    private var isOutdated = false

    /// Begins with no number, and without a name.
    init(clusterID: UInt64) {
        cluster = String(clusterID, radix: 16)
    }

    /// The names that the history may have, in this backend and in others.
    var names: Set<String> {
        [name, stored.map(name(of:)) ?? name]
    }

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

    /// What the next transaction has to write; nil if the number is stored.
    func write(to key: [UInt8]) -> Write? {
        guard stored == nil || isOutdated else { return nil }
        return Write(
            compare: TxnRequest.Compare(key: key, target: .modRevision(modRevision)),
            put: PutRequest(key: key, value: Array(String(number, radix: 16).utf8)))
    }

    /// Whether what is read later can be of the same history, which is known up to a revision.
    func isContinued(by later: Self, since revision: Int64) -> Bool {
        later.cluster == cluster && (later.modRevision > revision || later.hasSameKey(as: self))
    }

    private func hasSameKey(as other: Self) -> Bool {
        stored == other.stored && modRevision == other.modRevision
    }

    // MARK: The name

    /// Goes on with the name of an identity that this one continues.
    mutating func resume(_ earlier: Self) {
        name = earlier.name
        isOutdated = earlier.isOutdated && hasSameKey(as: earlier)
        if stored == nil || isOutdated { number = earlier.number }
    }

    /// Begins a history.
    ///
    /// - Parameters:
    ///   - hasEntries: whether there are entries. Without a number, an older version of this library has stored them, or another program.
    ///   - names: those of earlier histories, which it must not have.
    mutating func begin(hasEntries: Bool, avoiding names: Set<String>) {
        name = stored == nil && hasEntries ? cluster : name(of: number)
        guard names.contains(name) else { return }
        (number, isOutdated) = (UInt64.random(in: .min ... .max), true)
        name = name(of: number)
    }
}

extension EntryKeys {
    /// The reserved key of the history's number.
    var history: [UInt8] { reservedKey("history") }
}
