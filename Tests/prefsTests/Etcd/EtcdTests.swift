import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("Entries in etcd", .timeLimit(.minutes(10)), .needsEtcd)
struct EtcdTests {
    private let etcd: String

    init() async throws {
        etcd = try await EtcdCluster.shared().endpoints[0] + "/tests/" + UUID().uuidString
    }

    /// Runs a command with the entries under the prefix of the test, and expects success.
    @discardableResult
    private func run(_ command: String, _ arguments: String..., input: String = "", environment: [String: String] = [:]) async throws
        -> String
    {
        let result = try await Subprocess.finished(
            "prefs", [command, "--etcd", etcd] + arguments, input: Data(input.utf8), environment: environment)
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }

    /// Writes a key as other programs do.
    private func put(_ key: Data, _ value: Data) async throws {
        let (key, value) = (key.base64EncodedString(), value.base64EncodedString())
        try await EtcdCluster.shared().call("/v3/kv/put", #"{"key":"\#(key)","value":"\#(value)"}"#)
    }

    @Test("Written values and their parts are read, and an unused prefix is empty")
    func reading() async throws {
        #expect(try await run("read") == "{}\n")
        try await run("write", "server.port", "80", "--int")
        try await run("write", "name", "web")
        #expect(try await run("read", "server.port") == "80\n")
        #expect(try await run("type", "server.port") == "integer\n")
        #expect(try await run("list") == "name\tstring\nserver\tdictionary\n")
        #expect(try await run("export", "--format", "json") == "{\n  \"name\": \"web\",\n  \"server\": {\"port\":80}\n}\n")
        let missing = try await tool("read", "--etcd", etcd, "port")
        #expect(missing.status == 1 && missing.errors == "prefs: no such key: \"port\"\n")
    }

    @Test("The option may follow the operands, and other prefixes are other storages")
    func order() async throws {
        #expect(try await tool("write", "k", "v", "--etcd=\(etcd)").status == 0)
        #expect(try await tool("read", "k", "--etcd", etcd).text == "v\n")
        #expect(try await tool("list", "--etcd", etcd + "/other").text.isEmpty)
    }

    @Test("Values are changed, renamed, imported, edited and removed")
    func writing() async throws {
        try await run("import", input: #"{"a": 1, "b": [1, 2], "c": {"d": true}}"#)
        #expect(try await run("increment", "a", "4") == "5\n")
        try await run("rename", "c.d", "e")
        try await run("edit", environment: ["VISUAL": "sed -i.bak 's/<integer>2</<integer>3</'"])
        #expect(try await run("read") == "{\n  \"a\": 5,\n  \"b\": [1,3],\n  \"c\": {},\n  \"e\": true\n}\n")
        try await run("delete", "b.0")
        #expect(try await run("read", "b") == "[3]\n")
        try await run("delete")
        #expect(try await run("list").isEmpty)
        let refused = try await tool("delete", "--etcd", etcd, "a")
        #expect(refused.status == 1)
    }

    @Test("An edit that the value does not allow changes nothing, and its error names the cluster and the prefix")
    func refused() async throws {
        try await run("write", "k", "text")
        let result = try await tool("increment", "--etcd", etcd, "k")
        #expect(result.status == 3)
        #expect(result.errors == "prefs: etcd \(etcd): key \"k\" cannot be incremented: it is of type string\n")
        #expect(try await run("read", "k") == "text\n")
    }

    @Test("Several tools that increment a value at once are all counted")
    func increments() async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 { group.addTask { try await run("increment", "k") } }
            try await group.waitForAll()
        }
        #expect(try await run("read", "k") == "6\n")
    }

    @Test("A difference from a file is printed")
    func diff() async throws {
        let folder = try TemporaryFolder()
        try PropertyListValue.dictionary(["a": 1, "b": 2]).encoded(as: .xml).write(to: folder.file("f.plist"))
        try await run("import", folder.path("f.plist"))
        #expect(try await run("diff", folder.path("f.plist")).isEmpty)
        try await run("write", "b", "3", "--int")
        let result = try await tool("diff", folder.path("f.plist"), "--etcd", etcd)
        #expect(result.status == 1 && result.text == "- b: 3\n+ b: 2\n")
    }

    @Test("Names and values are searched, in files as well")
    func find() async throws {
        let folder = try TemporaryFolder()
        try PropertyListValue.dictionary(["host": "beta"]).encoded(as: .xml).write(to: folder.file("f.plist"))
        try await run("import", input: #"{"server": {"Port": 80}, "name": "Beta"}"#)
        #expect(try await run("find", "port") == "\"\(etcd)\": server.Port: 80\n")
        let file = folder.path("f.plist")
        #expect(try await run("find", "beta", file) == "\"\(etcd)\": name: \"Beta\"\n\(file): host: \"beta\"\n")
        let none = try await tool("find", "gamma", "--etcd", etcd)
        #expect(none.status == 1 && none.output.isEmpty && none.errors.isEmpty)
    }

    @Test("A value that is not a property list is reported with its key, and so are keys of no entry")
    func lint() async throws {
        #expect(try await run("lint") == "etcd \(etcd): OK (0 keys)\n")
        try await run("write", "a", "1", "b", "2")
        #expect(try await run("lint") == "etcd \(etcd): OK (2 keys)\n")
        let prefix = etcd.drop { $0 != "/" }.dropFirst() + "/"
        let list = try PropertyListValue.integer(1).encoded(as: .binary)
        for (name, value) in [("c", Data("text".utf8)), ("e\u{301}", list), ("\u{E9}", list)] {
            try await put(Data((prefix + name).utf8), value)
        }
        try await put(Data(prefix.utf8) + [0xFF], list)
        let result = try await tool("lint", "--etcd", etcd)
        #expect(result.status == 1 && result.output.isEmpty)
        let errors = result.errors.split(separator: "\n").map { $0.dropFirst("prefs: etcd \(etcd): ".count) }
        #expect(errors.count == 3)
        #expect(errors.first?.hasPrefix("key \"c\": not a property list: ") == true)
        #expect(errors.dropFirst().first?.contains("etcd has two keys for \"\u{E9}\", in different Unicode normalizations") == true)
        #expect(errors.last == #"the key $'\#(prefix)\xff' is not valid UTF-8"#)
    }

    @Test("A watch prints current values and changes, with revisions")
    func watch() async throws {
        try await run("write", "k", "old")
        let watch = try RunningProgram("prefs", ["watch", "--etcd", etcd, "--initial", "--json"])
        #expect(try await watch.lines(count: 1)[0].contains(#""new":"old","kind":"initial""#))
        try await run("write", "k", "new", "l", "more")
        let lines = try await watch.lines(count: 3)[1...]
        #expect(lines.contains { $0.contains(#"{"key":"k","old":"old","new":"new","kind":"set","origin":"external","revision":1,"#) })
        #expect(lines.contains { $0.contains(#"{"key":"l","old":null,"new":"more","kind":"set","origin":"external","revision":1,"#) })
        #expect(lines.allSatisfy { !$0.contains(#""storageRevision":null"#) })
        watch.signal(SIGTERM)
        #expect(try await watch.status == 0)
    }

    @Test("The history of etcd is printed; a revision of another cluster has its own exit status")
    func earlierChanges() async throws {
        try await run("write", "k", "v")
        try await run("write", "k", "w")
        let log = try await Subprocess.finished("prefs", ["log", "--etcd", etcd])
        #expect(log.status == 0)
        #expect(String(decoding: log.output, as: UTF8.self).split(separator: "\n").count == 2)
        let current = try RunningProgram("prefs", ["watch", "--etcd", etcd, "--initial", "--json"])
        let revision = try #require(
            try await current.lines(count: 1)[0].components(separatedBy: #""storageRevision":""#).last?.components(separatedBy: "\"").first)
        current.signal(SIGTERM)
        _ = try await current.status
        try await run("write", "k", "x")
        try await run("write", "k", "y")
        let watch = try RunningProgram("prefs", ["watch", "--since", revision, "--etcd", etcd, "--json"])
        let lines = try await watch.lines(count: 2)
        #expect(lines[0].contains(#""old":"w","new":"x""#) && lines[1].contains(#""old":"x","new":"y""#))
        watch.signal(SIGTERM)
        #expect(try await watch.status == 0)
        let result = try await Subprocess.finished("prefs", ["watch", "--since", "0-1", "--etcd", etcd])
        #expect(result.status == 4 && result.output.isEmpty && result.errors.hasPrefix("prefs: etcd \(etcd): "))
    }

    @Test("Keys are completed")
    func completion() async throws {
        try await run("write", "server.port", "80", "--int")
        for option in [["--etcd", etcd], ["--etcd=\(etcd)"]] {
            let result = try await Subprocess.finished("prefs", ["completions", "--candidates", "--", "read"] + option + ["serv"])
            #expect(result.text == "server\nserver.port\n")
        }
        let second = try await tool("completions", "--candidates", "--", "rename", "server", "--etcd", etcd, "s")
        #expect(second.text.isEmpty)
    }

    @Test("A cluster that cannot be reached is an error that names it", .servers(1))
    func unreachable() async throws {
        let cluster = try await EtcdCluster.start()
        try await cluster.kill(0)
        let etcd = cluster.endpoints[0] + "/web"
        let result = try await tool("read", "--etcd", etcd)
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: etcd \(etcd): cannot be read: no member of the etcd cluster responds"))
    }

    @Test("A user logs in with the password in the environment", .servers(1))
    func password() async throws {
        let cluster = try await EtcdCluster.start()
        let endpoint = cluster.endpoints[0]
        try await cluster.enableAuthentication(rootPassword: "secret")
        let arguments = ["write", "--etcd", endpoint + "/web", "--etcd-user", "root", "k", "v"]
        #expect(try await Subprocess.finished("prefs", arguments, environment: ["ETCD_PASSWORD": "secret"]).status == 0)
        let wrong = try await Subprocess.finished("prefs", arguments, environment: ["ETCD_PASSWORD": "wrong"])
        #expect(wrong.status == 3 && wrong.errors.hasPrefix("prefs: etcd \(endpoint)/web: "))
        #expect(!wrong.errors.contains("wrong"))
        #expect(try await tool("read", "--etcd", endpoint + "/web").status == 3)
    }
}
