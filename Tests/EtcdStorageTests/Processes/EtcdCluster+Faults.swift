#if os(macOS) || os(Linux)
    import Foundation
    import TestSupport

    extension EtcdCluster {
        /// Kills the leader, and starts it again when another one leads.
        func replaceLeader() async throws {
            let leader = try await leader()
            try await kill(leader)
            _ = try await self.leader(ignoring: [leader])
            try await restart(leader)
        }

        /// Suspends the leader until another one leads, and something has happened.
        func suspendLeader(until isOver: () async throws -> Void) async throws {
            let leader = try await leader()
            suspend(leader)
            defer { resume(leader) }
            _ = try await self.leader(ignoring: [leader])
            try await isOver()
        }

        /// Kills all members.
        func killAll() async throws {
            for member in ports.indices { try await kill(member) }
        }

        /// Starts all members again, and returns when they serve.
        func restartAll() async throws {
            try await withThrowingTaskGroup { group in
                for member in ports.indices { group.addTask { try await self.restart(member) } }
                try await group.waitForAll()
            }
        }

        /// The newest revision, and the bytes of a key with the revision in which they were written, by a request without the library.
        ///
        /// Returns nil for the key if it is not stored; throws if the member does not serve.
        func plainValue(of key: String, member: Int = 0) async throws -> (revision: Int64, value: Data?) {
            let json = try await call("/v3/kv/range", #"{"key":"\#(Data(key.utf8).base64EncodedString())"}"#, member: member)
            let answer = try JSONDecoder().decode(PlainRange.self, from: Data(json.utf8))
            return (Int64(answer.header.revision) ?? 0, answer.kvs?.first?.value)
        }

        /// Forgets the history before a revision.
        func compact(to revision: Int64, member: Int = 0) async throws {
            try await call("/v3/kv/compaction", #"{"revision":"\#(revision)"}"#, member: member)
        }
    }

    /// An answer of etcd.
    private struct PlainRange: Decodable {
        struct Header: Decodable {
            var revision: String
        }

        struct KeyValue: Decodable {
            var value: Data?
        }

        var header: Header
        var kvs: [KeyValue]?
    }
#endif
