#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @Suite("prefs: domains of state", .timeLimit(.minutes(10)))
    struct StateTests {
        private let folder: TemporaryFolder
        private let environment: [String: String]

        init() throws {
            folder = try TemporaryFolder()
            environment = ["XDG_CONFIG_HOME": folder.path("config"), "XDG_STATE_HOME": folder.path("state")]
        }

        private func prefs(_ arguments: String...) async throws -> (status: Int32, text: String) {
            let result = try await Subprocess.finished("prefs", arguments, environment: environment)
            return (result.status, result.text)
        }

        @Test("--state names the file of a domain in XDG_STATE_HOME, and a path stays one")
        func files() async throws {
            #expect(try await prefs("write", "org.example", "recent", "a", "--state").status == 0)
            #expect(try await prefs("write", "--state", folder.path("own.plist"), "recent", "b").status == 0)
            #expect(try await prefs("read", "org.example", "recent", "--state").text == "a\n")
            #expect(
                try await prefs("read", "org.example", "recent", "--origin", "--state").text.hasPrefix("stored\t\(folder.path("state"))/"))
            #expect(try await prefs("read", "org.example", "recent").status != 0)
            #expect(FileManager.default.fileExists(atPath: folder.path("state/org.example.plist")))
            #expect(FileManager.default.fileExists(atPath: folder.path("own.plist")))
            #expect(!FileManager.default.fileExists(atPath: folder.path("config")))
        }

        @Test("Domains of state are listed and completed with the option only")
        func domains() async throws {
            _ = try await prefs("write", "org.example", "recent", "a", "--state")
            _ = try await prefs("write", "org.other", "volume", "1")
            #expect(try await prefs("domains", "--state").text == "org.example\n")
            #expect(try await prefs("domains").text == "org.other\n")
            #expect(try await prefs("completions", "--candidates", "--", "read", "--state", "").text == "org.example\n")
            #expect(try await prefs("completions", "--candidates", "--", "read", "--state", "org.example", "").text == "recent\n")
            #expect(try await prefs("completions", "--candidates", "--", "read", "--sta").text == "--state\n")
        }

        @Test("With the option, find without files searches all domains of state, and those only")
        func find() async throws {
            _ = try await prefs("write", "org.example", "recent", "a", "--state")
            _ = try await prefs("write", "org.other", "recent", "b")
            #expect(try await prefs("find", "recent", "--state").text == "\(folder.path("state/org.example.plist")): recent: \"a\"\n")
            #expect(try await prefs("find", "recent").text == "org.other: recent: \"b\"\n")
        }

        @Test("A command without files does not take it")
        func unknown() async throws {
            #expect(try await prefs("help", "--state").status == 2)
        }
    }
#endif
