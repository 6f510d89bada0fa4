import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("URL as Storable", .timeLimit(.minutes(10))) struct URLValueTests {
    @Test(
        "A URL is read back equal",
        arguments: [
            "https://user:pass@example.org:8080/a%20b/%C3%A9?q=1&r=%26#part", "a/b", "../up", "~a", "?query", "#fragment",
            "file:///tmp/a%20b/", "file:///tmp/a", "mailto:someone@example.org", "data:,x", "http://[::1]/",
        ])
    func whole(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(try url.propertyListValue == .string(text))
        #expect(try URL(propertyListValue: .string(text)) == url)
    }

    @Test("A file URL keeps its path and whether it is a folder")
    func fileURL() throws {
        for url in [URL(fileURLWithPath: "/tmp/a b#?%é", isDirectory: false), URL(fileURLWithPath: "/tmp/a b#?%é", isDirectory: true)] {
            let back = try URL(propertyListValue: url.propertyListValue)
            #expect(back == url)
            #expect(back.path == url.path)
            #expect(back.hasDirectoryPath == url.hasDirectoryPath)
        }
    }

    @Test("A relative URL is stored as the absolute one")
    func base() throws {
        let url = try #require(URL(string: "c?d", relativeTo: URL(string: "https://example.org/a/b")))
        #expect(try url.propertyListValue == "https://example.org/a/c?d")
        #expect(try URL(propertyListValue: url.propertyListValue) == url.absoluteURL)
    }

    @Test("A path is the URL of a file, as Foundation reads it in user defaults", arguments: ["/var/x", "/var/a b#é", "~/x", "//x/./y"])
    func path(_ text: String) throws {
        let domain = TemporaryDomain()
        let defaults = try domain.defaults
        defaults.set(text, forKey: "home")
        let url = try #require(defaults.url(forKey: "home"))
        for backend in [try domain.makeBackend(), InMemoryBackend(["home": .string(text)])] as [any BlockingStorageBackend] {
            let store = try ObservableStore(backend: backend)
            #expect(store.value(URL.self, forKey: "home")?.absoluteString == url.absoluteString)
            #expect(store[StorageKey<URL?>("home")]?.absoluteString == url.absoluteString)
            #expect(store[StorageKey<URL?>("home", codec: .userDefaults)]?.absoluteString == url.absoluteString)
            #expect(url.isFileURL)
        }
    }

    @Test("A relative URL that would be read as a path is refused", arguments: ["/absolute?query", "~/x", "~", "//example.org/a"])
    func refused(_ text: String) throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let url = try #require(URL(string: text))
        let error = StorageError.unencodable(key: "url", reason: "string \"\(text)\" would be read as the path of a file")
        #expect(throws: error) { try store.set(url, for: StorageKey<URL?>("url")) }
    }

    @Test(
        "A string that is only valid as a URL after escaping is rejected",
        arguments: ["", "two words", "http://a b/", "http://exämple.org", "%zz"])
    func wrong(_ text: String) {
        #expect(throws: CodingFailure(URL.self, found: "string \"\(text)\"")) { try URL(propertyListValue: .string(text)) }
    }
}
