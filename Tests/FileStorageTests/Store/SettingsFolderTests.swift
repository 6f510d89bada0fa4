#if os(Linux)
    import Foundation
    import Testing

    @testable import ObservableStorage

    @Suite("The configuration folder", .timeLimit(.minutes(10))) struct SettingsFolderTests {
        private func file(_ environment: [String: [UInt8]], _ kind: SuiteKind = .configuration) throws -> String {
            try SettingsFolder.path(ofSuite: "org.example", kind: kind) { environment[$0].map { Data($0) } }
        }

        private func file(_ environment: [String: String], _ kind: SuiteKind = .configuration) throws -> String {
            try file(environment.mapValues { Array($0.utf8) }, kind)
        }

        @Test("State is in a service's state folder, or else in XDG_STATE_HOME if absolute, or else in HOME")
        func state() throws {
            let user = ["HOME": "/home/me", "XDG_CONFIG_HOME": "/config", "CONFIGURATION_DIRECTORY": "/etc/me"]
            func file(_ others: [String: String]) throws -> String { try self.file(user.merging(others) { $1 }, .state) }
            #expect(try file([:]) == "/home/me/.local/state/org.example.plist")
            #expect(try file(["XDG_STATE_HOME": "/state"]) == "/state/org.example.plist")
            #expect(try file(["XDG_STATE_HOME": "state"]) == "/home/me/.local/state/org.example.plist")
            #expect(try file(["XDG_STATE_HOME": "/state", "STATE_DIRECTORY": "/var/lib/me"]) == "/var/lib/me/org.example.plist")
            let reason = "the folder of settings is not known: XDG_STATE_HOME is not UTF-8"
            #expect(throws: StorageError.unreadable(file: "org.example.plist", reason: reason)) {
                try self.file(["XDG_STATE_HOME": [0x2F, 0xFF]], .state)
            }
        }

        @Test("A suite whose name is no name of a file in the folder is rejected", arguments: ["", ".", "..", "a/b", "../a", "/", "a\0b"])
        func notAName(suite: String) {
            let reason = "the name of a suite may not be empty, . or .., nor contain / or NUL; use one such as org.example.editor"
            let error = StorageError.unreadable(file: "\(suite).plist", reason: reason)
            #expect(throws: error) { try SettingsFolder.path(ofSuite: suite) }
            #expect(throws: error) { try PropertyListFile(suiteName: suite, kind: .state).load() }
            #expect(throws: error) { try ObservableStore.read(suiteName: suite) }
            #expect(PropertyListFile.administratorsFiles(ofSuite: suite).defaults.isEmpty)
        }

        @Test("It is XDG_CONFIG_HOME if absolute, or else in HOME, which can be relative")
        func places() throws {
            #expect(try file(["HOME": "/home/me"]) == "/home/me/.config/org.example.plist")
            #expect(try file(["HOME": "/home/me", "XDG_CONFIG_HOME": "/config"]) == "/config/org.example.plist")
            #expect(try file(["HOME": "/home/me", "XDG_CONFIG_HOME": "config"]) == "/home/me/.config/org.example.plist")
            #expect(try file(["HOME": "/home/me", "XDG_CONFIG_HOME": ""]) == "/home/me/.config/org.example.plist")
            #expect(try file(["HOME": "me"]) == "me/.config/org.example.plist")
            #expect(try file(["HOME": ""]) == NSHomeDirectory() + "/.config/org.example.plist")
        }

        @Test("In a service it is the first state folder, or else the first configuration folder, if absolute")
        func service() throws {
            let user = ["HOME": "/home/me", "XDG_CONFIG_HOME": "/config"]
            func file(_ service: [String: String]) throws -> String { try self.file(user.merging(service) { $1 }) }
            #expect(try file(["STATE_DIRECTORY": "/var/lib/me"]) == "/var/lib/me/org.example.plist")
            #expect(try file(["STATE_DIRECTORY": "/var/lib/me:/var/lib/us"]) == "/var/lib/me/org.example.plist")
            #expect(try file(["CONFIGURATION_DIRECTORY": "/etc/me:/etc/us"]) == "/etc/me/org.example.plist")
            #expect(
                try file(["CONFIGURATION_DIRECTORY": "/etc/me", "STATE_DIRECTORY": "/var/lib/me"]) == "/var/lib/me/org.example.plist")
            #expect(try file(["STATE_DIRECTORY": "me", "CONFIGURATION_DIRECTORY": ""]) == "/config/org.example.plist")
        }

        @Test(
            "A folder that is not UTF-8 is an error that names the variable, and not another folder",
            arguments: ["HOME", "XDG_CONFIG_HOME", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY"])
        func notUTF8(variable: String) throws {
            let reason = "the folder of settings is not known: \(variable) is not UTF-8"
            #expect(throws: StorageError.unreadable(file: "org.example.plist", reason: reason)) { try file([variable: [0x2F, 0xFF]]) }
        }
    }
#endif
