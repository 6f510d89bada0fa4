import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("App groups", .timeLimit(.minutes(10)))
struct AppGroupTests {
    private let group = "group.com.example.app"

    @Test("The file is in Application Support of the group's container")
    func file() throws {
        let container = URL(fileURLWithPath: "/container", isDirectory: true)
        let file = try SystemRules.ofProcess.file("settings", ofAppGroup: group, in: container)
        #expect(file.path == "/container/Library/Application Support/settings.plist")
    }

    @Test("On tvOS the file is in Caches of the container, where it may be removed")
    func fileOfTV() throws {
        let rules = SystemRules(.tvOS, home: "/var/mobile/Containers/Data/Application/45C7", isSandboxed: true)
        let container = URL(fileURLWithPath: "/private/var/mobile/Containers/Shared/AppGroup/5E1B", isDirectory: true)
        let file = try rules.file("settings", ofAppGroup: group, in: container)
        #expect(file.path == "/private/var/mobile/Containers/Shared/AppGroup/5E1B/Library/Caches/settings.plist")
        #expect(rules.mayPurge(file.path))
    }

    @Test("A missing container is an error with the group and the entitlement as the remedy")
    func noContainer() {
        #expect {
            try SystemRules.ofProcess.file("settings", ofAppGroup: group, in: nil)
        } throws: { error in
            "\(error)".contains("app group group.com.example.app") && "\(error)".contains("App Groups entitlement")
        }
    }

    @Test(
        "Files in the containers of app groups are known by their paths",
        arguments: [
            ("/private/var/mobile/Containers/Shared/AppGroup/5E1B/Library/settings.plist", true),
            ("/Users/me/Library/Group Containers/group.com.example.app/settings.plist", true),
            ("/private/var/mobile/Containers/Data/Application/5E1B/Library/settings.plist", false),
            ("/Users/me/Library/Containers/com.example.app/settings.plist", false),
        ])
    func paths(path: String, isShared: Bool) {
        #expect(SystemRules.isInAppGroup(path) == isShared)
    }
}
