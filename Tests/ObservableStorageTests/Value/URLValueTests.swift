import Foundation
import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("URL as Storable", .timeLimit(.minutes(10))) struct URLValueTests {
    @Test(
        "A URL is read back equal",
        arguments: [
            "https://user:pass@example.org:8080/a%20b/%C3%A9?q=1&r=%26#part", "a/b", "../up", "/absolute", "?query", "#fragment",
            "file:///tmp/a%20b/", "file:///tmp/a", "mailto:someone@example.org", "data:,x", "http://[::1]/",
        ])
    func whole(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.propertyListValue == .string(text))
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
        #expect(url.propertyListValue == "https://example.org/a/c?d")
        #expect(try URL(propertyListValue: url.propertyListValue) == url.absoluteURL)
    }

    @Test(
        "A string that is only valid as a URL after escaping is rejected",
        arguments: ["", "two words", "http://a b/", "http://exämple.org", "%zz"])
    func wrong(_ text: String) {
        #expect(throws: CodingFailure(URL.self, found: "string \"\(text)\"")) { try URL(propertyListValue: .string(text)) }
    }
}
