import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Another storage for values by name, in which only integers are read and set.
protocol KeyValuePeer: SendableMetatype {
    /// Why rows that need it are skipped; nil if it is installed.
    static var missing: String? { get }

    /// Opens the storage in a folder, or makes it.
    ///
    /// - Parameter isDurable: whether a value that was set survives a power failure; otherwise it survives the end of the process.
    init(in folder: URL, isDurable: Bool) throws

    func fill(_ entries: [(name: String, value: Data)]) throws
    func set(_ name: String, to value: Int) throws
    func value(of name: String) throws -> Int
}

/// Other libraries for the same work, which are opened at run time where they are installed.
enum PeerRows {
    static let rows =
        rows(SQLite.self, "sqlite", "SQLite", relaxed: "SQLite, WAL, NORMAL", durable: "SQLite, WAL, FULL")
        + rows(LMDB.self, "lmdb", "LMDB", relaxed: "LMDB, NOSYNC", durable: "LMDB")

    private static let key = "launchCount"

    private static func rows<Peer: KeyValuePeer>(
        _ type: Peer.Type, _ name: String, _ title: String, relaxed: String, durable: String
    ) -> [Row] {
        let sizes = [100, 10_000].map { count in
            Row(
                "peers.\(name).open.\(count)", "open and read one of \(Figures.entries(count))", against: relaxed, missing: Peer.missing
            ) { place in
                let bytes = try PropertyListValue.dictionary(SampleList.make(count)).encoded(as: .binary)
                let folder = try make(type, count, in: place)
                return Pair(
                    subject: try Opening.open(bytes, holding: SampleList.name(0), in: place),
                    baseline: .each {
                        let peer = try Peer(in: folder.url, isDurable: false)
                        consume(try peer.value(of: key))
                        return peer
                    },
                    tearDown: { _ = folder })
            }
        }
        let commit = Row(
            "peers.\(name).commit", "durable commit of an integer to a journal, 100 entries", against: durable, missing: Peer.missing
        ) { place in
            let sample = try SampleStore(journal: .full(), in: place)
            let (peer, folder) = try open(type, isDurable: true, in: place)
            return Pair(subject: Committing.commit(to: sample.store, .journal), baseline: set(peer)) {
                try await sample.close()
                _ = folder
            }
        }
        let write = Row(
            "peers.\(name).set", "set an integer that survives the end of the process", against: relaxed, missing: Peer.missing
        ) { place in
            let sample = try SampleStore(in: place)
            let (peer, folder) = try open(type, isDurable: false, in: place)
            let subject = Writing.write(to: sample.store) { sample.store[.launchCount] = $0 }
            return Pair(subject: subject, baseline: set(peer)) {
                try await sample.close()
                _ = folder
            }
        }
        let read = Row("peers.\(name).read", "read an integer", against: title, missing: Peer.missing) { place in
            let sample = try SampleStore(in: place)
            let (peer, folder) = try open(type, isDurable: false, in: place)
            let baseline = Work.loop { count in
                for _ in 0..<count { consume(try peer.value(of: key)) }
            }
            let subject = Work.loop { count in
                for _ in 0..<count { consume(sample.store[.launchCount]) }
            }
            return Pair(subject: subject, baseline: baseline) {
                try await sample.close()
                _ = folder
            }
        }
        return sizes + [commit, write, read]
    }

    private static func set(_ peer: some KeyValuePeer) -> Work {
        var value = 0
        return .loop { count in
            for _ in 0..<count {
                value += 1
                try peer.set(key, to: value)
            }
        }
    }

    private static func open<Peer: KeyValuePeer>(
        _ type: Peer.Type, isDurable: Bool, in place: Place
    ) throws -> (peer: Peer, folder: TemporaryFolder) {
        let folder = try make(type, 100, in: place)
        return (try Peer(in: folder.url, isDurable: isDurable), folder)
    }

    /// Makes a storage with a number of entries and the key.
    private static func make<Peer: KeyValuePeer>(_ type: Peer.Type, _ count: Int, in place: Place) throws -> TemporaryFolder {
        let folder = try place.folder()
        let peer = try Peer(in: folder.url, isDurable: true)
        try peer.fill(SampleList.make(count).map { ($0.key, try $0.value.encoded(as: .binary)) })
        try peer.set(key, to: 0)
        return folder
    }
}
