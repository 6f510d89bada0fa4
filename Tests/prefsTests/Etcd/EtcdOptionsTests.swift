import EtcdStorage
import TestSupport
import Testing

@testable import prefs

@Suite("Options for etcd", .timeLimit(.minutes(10)))
struct EtcdOptionsTests {
    private func configuration(
        _ operand: String, _ options: [String: String] = [:], environment: [String: String] = [:]
    ) throws -> EtcdConfiguration {
        try EtcdConfiguration(Arguments(operands: [operand], options: options), environment: environment)
    }

    @Test("Endpoints are separated by commas, and the prefix is all that follows the first slash")
    func operand() throws {
        #expect(
            try configuration("10.0.0.1:2379,10.0.0.2:2379/services/web")
                == EtcdConfiguration(endpoints: ["10.0.0.1:2379", "10.0.0.2:2379"], prefix: "services/web"))
        #expect(try configuration("[::1]:2379//web/") == EtcdConfiguration(endpoints: ["[::1]:2379"], prefix: "/web/"))
    }

    @Test("The password comes from the environment, and is never an argument")
    func password() throws {
        let found = try configuration("a/b", ["etcd-user": "root"], environment: ["ETCD_PASSWORD": "secret"])
        #expect(found.credentials == .init(user: "root", password: "secret"))
        #expect(try configuration("a/b", environment: ["ETCD_PASSWORD": "secret"]).credentials == nil)
        #expect(throws: CommandError.usage("--etcd-user needs the password in the environment variable ETCD_PASSWORD")) {
            try configuration("a/b", ["etcd-user": "root"])
        }
    }

    @Test("A password in the addresses is an error that does not have it", arguments: ["a", "a/b", "a,c/b"])
    func passwordInAddress(rest: String) {
        for user in ["root:secret", "root:se,cret"] {
            let error = #expect(throws: CommandError.self) { try configuration("\(user)@\(rest)") }
            #expect(error.map { "\($0)".contains("--etcd-user") && !"\($0)".contains("cret") } ?? false)
        }
    }

    @Test("An authority or a certificate encrypts connections")
    func encryption() throws {
        #expect(try configuration("a/b", ["etcd-cacert": "ca.pem"]).tls == .init(authorities: .certificates(.file("ca.pem"))))
        let files = ["etcd-cacert": "ca.pem", "etcd-cert": "me.pem", "etcd-key": "me.key"]
        let identity = TLSConfiguration.Identity(certificate: .file("me.pem"), key: .file("me.key"))
        #expect(try configuration("a/b", files).tls == .init(authorities: .certificates(.file("ca.pem")), identity: identity))
        for name in ["etcd-cert", "etcd-key"] {
            #expect(throws: CommandError.usage("--etcd-cert and --etcd-key need each other")) { try configuration("a/b", [name: "me"]) }
        }
    }

    @Test(
        "Without a prefix or a valid endpoint, or with options that do not fit, the command line is invalid",
        arguments: [
            ["read", "--etcd", "localhost:2379"], ["read", "--etcd", ""], ["read", "--etcd", "/web"], ["read", "--etcd", "host:port/web"],
            ["read", "--etcd", "localhost/web", "a", "b"], ["read", "f.plist", "--etcd-user", "root"], ["mirror", "localhost/web"],
            ["read", "--etcd", "localhost/web", "k", "--origin"], ["list", "--etcd", "localhost/web", "--layers"],
            ["mirror", "localhost", "f.plist"], ["mirror", "localhost/web", ""], ["find", "--etcd", "localhost/web"],
            ["find", "x", "--etcd-user", "root"], ["lint", "f.plist", "--etcd-user", "root"], ["lint", "--etcd", "localhost/web", ""],
        ])
    func invalid(_ arguments: [String]) async throws {
        let result = try await Subprocess.finished("prefs", arguments)
        #expect(result.status == 2 && result.errors.contains("usage: prefs \(arguments[0])"), "\(result.errors)")
    }

    @Test(
        "Commands for files only refuse the options and say so",
        arguments: [["convert", "--to", "xml"], ["domains"], ["completions", "bash"], ["manual"]])
    func filesOnly(_ arguments: [String]) async throws {
        let result = try await Subprocess.finished("prefs", arguments + ["--etcd", "localhost/web"])
        #expect(result.status == 2 && result.errors.hasPrefix("prefs: \(arguments[0]) works on files only, and takes no --etcd\n"))
    }

    @Test("The commands that take the options are named in the help, and their options are completed")
    func documented() async throws {
        let help = try #require(Command.sections.first { $0.0 == "etcd" }).1
        for command in Prefs.commands {
            #expect(
                help.contains(" \(command.name),") || help.hasPrefix("\(command.name),")
                    || help.contains(" \(command.name) take ")
                        == command.takesEtcd,
                "\(command.name)")
            let completed = Command.candidates(for: [command.name, "--etcd"])
            #expect(completed == (command.takesEtcd ? ["--etcd", "--etcd-user", "--etcd-cacert", "--etcd-cert", "--etcd-key"] : []))
        }
        for option in EtcdConfiguration.options { #expect(help.contains(option)) }
        #expect(help.contains(EtcdConfiguration.passwordVariable))
    }
}
