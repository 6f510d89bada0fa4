import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(10)))
struct OptionsTests {
    @Test("Without arguments, all rows are selected and printed as text")
    func nothing() throws {
        let options = try Options([])
        #expect(options.action == .rows)
        #expect(!options.isMarkdown)
        #expect(options.names.isEmpty)
    }

    @Test("Names, options and their values are distinguished")
    func mixed() throws {
        let options = try Options(["read", "--markdown", "--in", "/dev/shm", "commit.1000"])
        #expect(options.action == .rows)
        #expect(options.isMarkdown)
        #expect(options.names == ["read", "commit.1000"])
        #expect(options.folder == "/dev/shm")
    }

    @Test(
        "An invalid argument is a usage error",
        arguments: [["--fast"], ["--draw"], ["--in"], ["--watch"], ["--measure"], ["--watch-etcd", "2379"]])
    func refused(arguments: [String]) {
        #expect(throws: UsageError.self) { try Options(arguments) }
    }

    @Test("A name selects the rows with that prefix, in the order of the table, and none selects all")
    func selection() throws {
        let names = ["read.key", "read.json", "write.key"]
        #expect(try Options(["write", "read.j"]).selected(from: names) { $0 } == ["read.json", "write.key"])
        #expect(try Options([]).selected(from: names) { $0 } == names)
        #expect(throws: UsageError("nothing is named raed")) { try Options(["raed"]).selected(from: names) { $0 } }
    }

    @Test("A process that watches etcd is told what to watch by the command line")
    func watcher() throws {
        let watcher = EtcdWatcher(port: 2379, prefix: "services/web", stores: 10, hasOwnPrefixes: true)
        #expect(try Options(watcher.arguments).action == .watchEtcd(watcher))
        #expect(try Options(["--etcd", "etcd.stores"]).action == .etcd)
    }

    @Test("Names of rows, curves and tables are unique")
    func names() {
        let names = (Table.rows + Table.orientation).map(\.name) + Curve.all.map(\.name) + EtcdTable.all.map(\.name)
        #expect(Set(names).count == names.count)
    }
}
