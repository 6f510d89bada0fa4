import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs: layers of a domain", .timeLimit(.minutes(10)))
struct LayerTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        for name in ["user", "first", "second"] {
            try FileManager.default.createDirectory(at: folder.file(name), withIntermediateDirectories: true)
        }
        environment = [
            "XDG_CONFIG_HOME": folder.path("user"), "XDG_CONFIG_DIRS": "\(folder.path("first")):relative:\(folder.path("second"))",
        ]
        try write(["proxy": "user", "size": 1, "server": ["port": 2]], to: "user/app.plist")
        try write(["proxy": "prescribed"], to: "second/app.mandatory.plist")
        try write(["size": 7, "server": ["host": "h"], "colour": "red"], to: "first/app.plist")
        try write(["colour": "blue", "shape": "round"], to: "second/app.plist")
    }

    private func write(_ entries: PropertyListValue, to name: String) throws {
        try entries.encoded(as: .binary).write(to: folder.file(name))
    }

    @Test("read --origin prints the layer and the file of the value that a program gets")
    func origin() async throws {
        let expected = [
            "proxy": "mandatory\t\(folder.path("second/app.mandatory.plist"))\tprescribed\n",
            "size": "stored\t\(folder.path("user/app.plist"))\t1\n",
            "server.host": "defaults\t\(folder.path("first/app.plist"))\th\n",
            "shape": "defaults\t\(folder.path("second/app.plist"))\tround\n",
        ]
        for (key, text) in expected {
            let read = try await tool("read", "app", key, "--origin", environment: environment)
            #expect((read.status, read.text) == (0, text))
        }
        #expect(try await tool("read", "app", "other", "--origin", environment: environment).status == 1)
        // The library agrees.
        let peer = try await Subprocess.finished("Peer", ["source", "app", "proxy", "size", "shape"], environment: environment)
        #expect(peer.text == "prescribed\n1\nround\n")
    }

    @Test("read --origin --environment prints the variable that hides the stored value of a program")
    func variable() async throws {
        let secret = folder.file("secret")
        try Data("s3cret\n".utf8).write(to: secret)
        var variables = environment
        variables.merge(["APP_PROXY": "p", "APP_SERVER_PORT": "3", "APP_SHAPE_FILE": secret.path, "APP_OTHER": ""]) { $1 }
        let expected = [
            "proxy": "mandatory\t\(folder.path("second/app.mandatory.plist"))\tprescribed\n",
            ".server.port": "environment\tAPP_SERVER_PORT\t3\n", "shape": "environment\tAPP_SHAPE_FILE\ts3cret\n",
            "other": "environment\tAPP_OTHER\t\n", "size": "stored\t\(folder.path("user/app.plist"))\t1\n",
        ]
        for (key, text) in expected {
            let read = try await tool("read", "app", key, "--origin", "--environment", "APP", environment: variables)
            #expect((read.status, read.text) == (0, text))
        }
        variables["APP_SHAPE"] = "round"
        #expect(try await tool("read", "app", "shape", "--origin", "--environment", "APP", environment: variables).status == 3)
        #expect(try await Subprocess.finished("prefs", ["read", "app", "size", "--environment", "APP"]).status == 2)
    }

    @Test("list --layers prints the keys of all layers, each with the first one that has it")
    func list() async throws {
        let list = try await tool("list", "app", "--layers", environment: environment)
        #expect(
            list.text == """
                colour\tstring\tdefaults\t\(folder.path("first/app.plist"))
                proxy\tstring\tmandatory\t\(folder.path("second/app.mandatory.plist"))
                server\tdictionary\tstored\t\(folder.path("user/app.plist"))
                shape\tstring\tdefaults\t\(folder.path("second/app.plist"))
                size\tinteger\tstored\t\(folder.path("user/app.plist"))

                """)
    }

    @Test("A path has one layer, and an option that does not fit another one is a usage error")
    func usage() async throws {
        let path = folder.path("user/app.plist")
        #expect(try await tool("read", path, "size", "--origin").text == "stored\t\(path)\t1\n")
        #expect(try await tool("read", path, "colour", "--origin").status == 1)
        let wrong = [["read", path, "--origin"], ["read", path, "size", "--origin", "--raw"], ["list", path, "--layers", "--nested"]]
        for arguments in wrong {
            #expect(try await Subprocess.finished("prefs", arguments).status == 2)
        }
    }
}
