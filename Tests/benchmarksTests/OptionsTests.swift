import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(10)))
struct OptionsTests {
    @Test("Without arguments, all rows are selected and printed as text")
    func nothing() throws {
        let options = try Options([])
        #expect(options.action == .rows)
        #expect(options.output == .text)
        #expect(options.names.isEmpty)
    }

    @Test("Names, options and their values are distinguished")
    func mixed() throws {
        let options = try Options(["read", "--json", "--in", "/dev/shm", "commit.1000"])
        #expect(options.action == .rows)
        #expect(options.output == .json)
        #expect(options.names == ["read", "commit.1000"])
        #expect(options.folder == "/dev/shm")
    }

    @Test(
        "--svg selects the curves, before, after or without --curves",
        arguments: [["--curves", "--svg", "a"], ["--svg", "a", "--curves"], ["--svg", "a"]])
    func picture(arguments: [String]) throws {
        #expect(try Options(arguments).action == .curves(picture: "a"))
    }

    @Test(
        "An invalid argument is a usage error",
        arguments: [["--fast"], ["--svg"], ["--in"], ["--watch"], ["--watch-etcd", "2379"], ["--curves", "--json"], ["--table", "a"]])
    func refused(arguments: [String]) {
        #expect(throws: UsageError.self) { try Options(arguments) }
    }

    @Test("A name selects the rows with that prefix, in the order of the table")
    func selection() throws {
        let names = ["read.key", "read.json", "write.key"]
        #expect(try Selection.choose(["write", "read.j"], from: names) { $0 } == ["read.json", "write.key"])
        #expect(throws: UsageError("nothing is named raed")) { try Selection.choose(["raed"], from: names) { $0 } }
    }

    @Test("A process that watches etcd is told what to watch by the command line")
    func watcher() throws {
        let watcher = EtcdWatcher(port: 2379, prefix: "services/web", stores: 10, hasOwnPrefixes: true)
        #expect(try Options(watcher.arguments).action == .watchEtcd(watcher))
        #expect(try Options(["--etcd", "etcd.stores"]).action == .etcd)
    }

    @Test("Names of rows, curves and tables are unique")
    func names() {
        let names = (Table.rows + Table.orientation).map(\.name) + CurveTable.curves.map(\.name) + EtcdTable.all.map(\.name)
        #expect(Set(names).count == names.count)
    }
}
