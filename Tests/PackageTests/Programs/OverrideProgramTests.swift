#if os(Linux)
    import ObservableStorage
    import TestSupport
    import Testing

    @Suite("Overrides of a program", .timeLimit(.minutes(10)))
    struct OverrideProgramTests {
        @Test(
            "Arguments and environment of the process are the default ones, for a file, a suite and the standard store")
        func process() async throws {
            let home = try TemporaryFolder()
            for kind in ["file", "suite", "standard"] {
                let ended = try await Subprocess.finished(
                    "Peer", ["overrides", kind, home.path("settings.plist"), "--port", "81", "in.txt"],
                    environment: ["XDG_CONFIG_HOME": home.path(".config"), "PEER_NAME": "n"])
                #expect(ended.errors == "")
                #expect(ended.text == "81 n overrides \(kind) \(home.path("settings.plist")) in.txt\n")
            }
            for file in ["settings.plist", ".config/Peer.plist", ".config/suite.plist"] {
                #expect(try PropertyListFile(at: home.file(file)).load().values["port"] == 1)
            }
        }
    }
#endif
