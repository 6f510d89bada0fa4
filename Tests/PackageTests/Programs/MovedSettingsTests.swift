import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A program that moves its settings from Foundation's user defaults to a store.
@Suite("A move from user defaults", .timeLimit(.minutes(10)))
struct MovedSettingsTests {
    private let home: TemporaryFolder
    private let file: URL

    init() throws {
        home = try TemporaryFolder()
        file = home.file("settings.plist")
    }

    /// Runs a version of the program in a home folder of its own, and returns what it prints.
    private func run(_ version: String, _ arguments: [String] = []) async throws -> String {
        let environment = ["HOME": home.url.path, "CFFIXED_USER_HOME": home.url.path, "XDG_CONFIG_HOME": home.path(".config")]
        let ended = try await Subprocess.finished("Peer", ["moved-settings", version] + arguments, environment: environment)
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        return ended.text
    }

    private func entries(of file: URL) throws -> [String: PropertyListValue] {
        try PropertyListFile(at: file).load().values.filter { !$0.key.hasPrefix("ObservableStorage.") }
    }

    @Test("The first start imports the settings, and later starts do not import them again")
    func once() async throws {
        _ = try await run("old")
        #expect(try await run("new", [file.path]) == "1 0.5 old true\n")
        #expect(try await run("new", [file.path]) == "2 0.25 no name true\n")
        #expect(try entries(of: file) == ["launches": 3, "volume": .real(0.25), "isMuted": true])
    }

    @Test("The old version still finds its settings, and what it changes later is not imported")
    func oldVersionAgain() async throws {
        _ = try await run("old")
        _ = try await run("new", [file.path])
        let old = home.file(".config/Peer.plist")
        #if os(Linux)
            #expect(try entries(of: old) == ["launches": 1, "volume": .real(0.5), "name": "old", "isMuted": true])
        #endif
        _ = try await run("old")
        #expect(try await run("new", [file.path]) == "2 0.25 no name true\n")
        #if os(Linux)
            #expect(try entries(of: old)["launches"] == 2)
        #endif
    }

    @Test("The standard store is the file of the user defaults on Linux, and loses none of them", .enabled(if: isLinux))
    func standard() async throws {
        _ = try await run("old")
        #expect(try await run("new") == "1 0.5 old true\n")
        #expect(try await run("new") == "2 0.25 no name true\n")
        #expect(try entries(of: home.file(".config/Peer.plist")) == ["launches": 3, "volume": .real(0.25), "isMuted": true])
    }

    @Test("A program without earlier settings starts with the defaults, and stores nothing until it changes one")
    func withoutEarlierSettings() async throws {
        #expect(try await run("new", [file.path]) == "0 0.8 no name false\n")
        #expect(try entries(of: file) == ["launches": 1, "volume": .real(0.25)])
    }
}

#if os(Linux)
    private let isLinux = true
#else
    private let isLinux = false
#endif
