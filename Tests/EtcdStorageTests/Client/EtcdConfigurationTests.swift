import ObservableStorage
import Testing

@testable import EtcdStorage

@Suite("The configuration of etcd", .timeLimit(.minutes(10)))
struct EtcdConfigurationTests {
    private func endpoints(_ texts: [String], isEncrypted: Bool = false) throws(StorageError) -> [Endpoint] {
        try EtcdConfiguration(endpoints: texts, prefix: "", tls: isEncrypted ? TLSConfiguration() : nil).parsedEndpoints()
    }

    @Test(
        "Endpoints are hosts with or without a scheme and a port",
        arguments: [
            ("localhost:2380", "localhost", 2380), ("localhost", "localhost", 2379), ("http://10.0.0.1:1", "10.0.0.1", 1),
            ("HTTP://etcd.example/", "etcd.example", 2379), ("[::1]:65535", "::1", 65535), ("http://[fe80::1%eth0]", "fe80::1%eth0", 2379),
        ])
    func valid(text: String, host: String, port: Int) throws {
        #expect(try endpoints([text]) == [Endpoint(host: host, port: UInt16(port))])
    }

    @Test(
        "An endpoint that cannot be used is an error that names it and the reason",
        arguments: [
            ("", "no host"), (":2379", "no host"), ("[]:1", "no host"), ("a:", "port"), ("a:0", "port"), ("a:65536", "port"),
            ("a:+1", "port"),
            ("a:x", "port"), ("::1", "brackets"), ("[::1", "\"]\""), ("[::1]x", "\"]\""), ("http://a/path", "\"/\""),
            ("a b", "\" \""), ("a\r\nb", "character"), ("unix://a", "unix://"), ("https://a", "tls is not set"),
        ])
    func invalid(text: String, reason: String) throws {
        let error = try #require(throws: StorageError.self) { try endpoints([text]) }
        #expect(error.description.contains("\"\(text.printableLine)\"") && error.description.contains(reason))
    }

    @Test(
        "The error for an endpoint with a password does not have the password",
        arguments: ["root:secret@a:1", "http://root:secret@a", "https://root:secret@a", "root:p@secret@a", "unix://:secret@a"])
    func endpointWithPassword(text: String) throws {
        let error = try #require(throws: StorageError.self) { try endpoints([text]) }
        #expect(!error.description.contains("secret") && error.description.contains("@a"))
    }

    @Test("With TLS, the scheme is https or left out")
    func encrypted() throws {
        #expect(try endpoints(["https://a", "b:1"], isEncrypted: true).map(\.host) == ["a", "b"])
        let error = try #require(throws: StorageError.self) { try endpoints(["http://a"], isEncrypted: true) }
        #expect(error.description.contains("https://"))
    }

    @Test("An endpoint that is given twice is one member")
    func duplicates() throws {
        #expect(try endpoints(["a:2379", "http://a", "b"]).count == 2)
    }

    @Test("A configuration without endpoints is an error")
    func none() {
        let error = StorageError.invalidConfiguration(
            item: "etcd", reason: "the configuration has no endpoints", remedy: "name at least one, such as localhost:2379")
        #expect(throws: error) { try endpoints([]) }
        #expect(throws: error) { try EtcdBackend(EtcdConfiguration(endpoints: [], prefix: "")) }
    }

    @Test("The description of credentials does not have the password")
    func password() {
        let configuration = EtcdConfiguration(endpoints: ["a"], prefix: "", credentials: .init(user: "root", password: "secret"))
        #expect(!String(describing: configuration).contains("secret"))
        #expect(!String(reflecting: configuration).contains("secret"))
    }

    /// What is printed of a value, dumped and mirrored.
    private func texts(of value: Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        for child in Mirror(reflecting: value).children { text += " \(child.value)" }
        return text
    }

    @Test("Neither a password, nor a token, nor the bytes of a private key are in what is printed, dumped or mirrored")
    func secrets() throws {
        let credentials = EtcdConfiguration.Credentials(user: "root", password: "secret")
        let key: [UInt8] = [201, 202, 203]
        let tls = TLSConfiguration(identity: .init(certificate: .file("/client.crt"), key: .bytes(key)))
        var configuration = EtcdConfiguration(endpoints: ["a"], prefix: "", credentials: credentials, tls: tls)
        let text = texts(of: configuration)
        #expect(!text.contains("secret") && !text.contains("201"))
        #expect(text.contains("root") && text.contains("/client.crt") && text.contains("3 bytes"))
        configuration.tls = nil
        let request = AuthenticateRequest(user: "root", password: "secret")
        let call = HTTPRequest(calling: request.path, request.message, token: "secret")
        let bytes = "secret".utf8.map { "\($0)" }.joined(separator: ", ")
        for value in [
            try EtcdBackend(configuration), try EtcdClient(configuration), request, AuthenticateRequest.Response(token: "secret"), call,
        ] as [Any] {
            let text = texts(of: value)
            #expect(!text.contains("secret") && !text.contains(bytes), "\(type(of: value))")
        }
    }
}
