import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs mirror", .timeLimit(.minutes(10)), .needsEtcd)
struct MirrorTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("mirror.plist")
    }

    private func run(_ command: String, _ etcd: String, _ arguments: String..., input: String = "") async throws {
        let result = try await Subprocess.finished("prefs", [command, "--etcd", etcd] + arguments, input: Data(input.utf8))
        #expect(result.status == 0, "\(result.errors)")
    }

    private func entries() throws -> PropertyListValue {
        try PropertyListValue.decode(Data(contentsOf: folder.file("mirror.plist"))).value
    }

    @Test("The file gets the entries, loses others, and follows each transaction, which a watch of the file reports as one")
    func following() async throws {
        let etcd = try await EtcdCluster.shared().endpoints[0] + "/tests/" + UUID().uuidString
        try await run("import", etcd, input: #"{"a": 1, "b": {"c": [true]}}"#)
        try PropertyListValue.dictionary(["a": 0, "other": 1]).encoded(as: .xml).write(to: folder.file("mirror.plist"))
        let watch = try RunningProgram("prefs", ["watch", file, "--initial"])
        _ = try await watch.lines(count: 2)

        let mirror = try RunningProgram("prefs", ["mirror", etcd, file])
        #expect(
            try await watch.lines(count: 5)[2...].sorted() == [
                "a: 0 -> 1  (external, revision 1)", #"b: (none) -> {"c":[true]}  (external, revision 1)"#,
                "other: 1 -> (removed)  (external, revision 1)",
            ])
        try await run("import", etcd, input: #"{"a": 2, "d": 3}"#)
        #expect(
            try await watch.lines(count: 7)[5...].sorted() == [
                "a: 1 -> 2  (external, revision 2)", "d: (none) -> 3  (external, revision 2)",
            ])
        try await run("delete", etcd, "b")
        try await watch.line { $0 == #"b: {"c":[true]} -> (removed)  (external, revision 3)"# }
        #expect(try entries() == ["a": 2, "d": 3])

        mirror.signal(SIGTERM)
        #expect(try await mirror.status == 0)
        #expect(mirror.errors.elements.isEmpty && mirror.lines.elements.isEmpty)
    }

    @Test("While the cluster is unreachable, the file keeps its entries, which standard error says; then it follows again", .servers(1))
    func outage() async throws {
        let cluster = try await EtcdCluster.start()
        let etcd = cluster.endpoints[0] + "/web"
        try await run("write", etcd, "k", "before")
        let watch = try RunningProgram("prefs", ["watch", file, "k", "--initial"])
        _ = try await watch.lines(count: 1)
        let mirror = try RunningProgram("prefs", ["mirror", etcd, file])
        try await watch.line { $0.contains(#"-> "before""#) }

        try await cluster.kill(0)
        let reported = try await mirror.errors.elements(count: 1)
        #expect(reported[0].hasPrefix("prefs: etcd \(etcd): "))
        #expect(try entries() == ["k": "before"])

        try await cluster.restart(0)
        try await run("write", etcd, "k", "after")
        try await watch.line { $0.contains(#""before" -> "after""#) }
        let errors = try await mirror.errors.elements(count: 2)
        #expect(errors == [reported[0], "prefs: etcd \(etcd): can be reached again"])
    }

    @Test("It waits for a cluster that is unreachable at the start", .servers(1))
    func lateCluster() async throws {
        let cluster = try await EtcdCluster.start()
        try await cluster.kill(0)
        let etcd = cluster.endpoints[0] + "/web"
        let mirror = try RunningProgram("prefs", ["mirror", etcd, file])
        #expect(try await mirror.errors.elements(count: 1)[0].hasPrefix("prefs: etcd \(etcd): cannot be read: "))
        let watch = try RunningProgram("prefs", ["watch", file, "k", "--initial"])
        _ = try await watch.lines(count: 1)
        try await cluster.restart(0)
        try await run("write", etcd, "k", "v")
        try await watch.line { $0.contains(#"-> "v""#) }
        // Each reason once: the server may take connections before it answers.
        let errors = mirror.errors.elements
        #expect(errors.count == Set(errors).count)
        #expect(errors.allSatisfy { $0.hasPrefix("prefs: etcd \(etcd): cannot be read: ") }, "\(errors)")
    }

    @Test("A file that cannot be written is reported once, and written when it can be")
    func unwritable() async throws {
        let etcd = try await EtcdCluster.shared().endpoints[0] + "/tests/" + UUID().uuidString
        try await run("write", etcd, "k", "v")
        let watch = try RunningProgram("prefs", ["watch", file, "k", "--initial"])
        _ = try await watch.lines(count: 1)
        try Data("nonsense".utf8).write(to: folder.file("mirror.plist"))
        let mirror = try RunningProgram("prefs", ["mirror", etcd, file])
        #expect(try await mirror.errors.elements(count: 1)[0].hasPrefix("prefs: \(file): not a readable property list"))
        try FileManager.default.removeItem(atPath: file)
        try await watch.line { $0.contains(#""v""#) }
        #expect(mirror.errors.elements.count == 1)
    }
}
