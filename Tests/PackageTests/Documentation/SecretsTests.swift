import ObservableStorage
import TestSupport
import Testing

@Suite("Secrets, the article", .timeLimit(.minutes(10)))
struct SecretsTests {
    // snippet: Secrets
    struct ServiceKeys: KeyGroup {
        let host = StorageKey("host", default: "localhost")
        let token = StorageKey<String?>("token").secret()
    }
    // end

    @Test("A snapshot is printed without the secret")
    func printed() throws {
        let settings = KeyedStore<ServiceKeys>(try ObservableStore(backend: InMemoryBackend()))
        settings.host = "example.org"
        settings.token = "secret"
        // snippet: Secrets
        print(settings.snapshot)  // KeyedSnapshot<ServiceKeys>(revision: 1, host: "example.org", token: "<redacted>")
        // end
        #expect("\(settings.snapshot)" == "KeyedSnapshot<ServiceKeys>(revision: 2, host: \"example.org\", token: \"<redacted>\")")
    }
}
