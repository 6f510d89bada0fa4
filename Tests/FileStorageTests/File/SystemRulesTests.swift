import Testing

@testable import ObservableStorage

@Suite("Rules of the systems for places", .timeLimit(.minutes(10)))
struct SystemRulesTests {
    private static let application = "/var/mobile/Containers/Data/Application/45C7"
    private let iOS = SystemRules(.iOS, home: application, isSandboxed: true)
    private let tvOS = SystemRules(.tvOS, home: "/private" + application, isSandboxed: true)
    private let macOS = SystemRules(.macOS, home: "/Users/me", isSandboxed: false)
    private let sandbox = SystemRules(.macOS, home: "/Users/me/Library/Containers/com.example/Data", isSandboxed: true)
    private let linux = SystemRules(.linux, home: "", isSandboxed: false)

    private static let groups = [
        "/private/var/mobile/Containers/Shared/AppGroup/5E1B/Library/settings.plist",
        "/Users/me/Library/Group Containers/group.com.example.app/settings.plist",
    ]

    @Test("A suspended process may hold locks in the application's own container only, by whichever name of it")
    func locks() {
        let own = ["\(Self.application)/Library/a.plist", "/private\(Self.application)/tmp/a.plist"]
        for rules in [iOS, tvOS] {
            #expect(own.allSatisfy { !rules.forbidsLockWhileSuspended(of: $0) })
            let others = Self.groups + ["\(Self.application)2/a.plist", "\(Self.application)/../45C8/a.plist", "/var/mobile/a.plist"]
            #expect(others.allSatisfy(rules.forbidsLockWhileSuspended))
        }
    }

    @Test("An extension may hold none while it is suspended, not even in its own container")
    func locksOfExtensions() {
        let home = "/var/mobile/Containers/Data/PluginKitPlugin/380C"
        let rules = SystemRules(.iOS, home: home, isSandboxed: true)
        #expect(rules.forbidsLockWhileSuspended(of: home + "/Library/a.plist"))
    }

    @Test("Systems that do not suspend processes allow locks everywhere, also in the containers of app groups")
    func locksElsewhere() {
        for rules in [macOS, sandbox, linux] {
            #expect((Self.groups + ["/tmp/a.plist"]).allSatisfy { !rules.forbidsLockWhileSuspended(of: $0) })
        }
    }

    @Test("In a sandbox, files outside of the process's containers may have been picked alone")
    func pickedFiles() {
        #expect(sandbox.mayBePickedAlone("/Users/me/Documents/a.plist"))
        #expect(iOS.mayBePickedAlone("/var/mobile/Library/Mobile Documents/a.plist"))
        #expect(!sandbox.mayBePickedAlone(sandbox.home + "/Documents/a.plist") && !iOS.mayBePickedAlone(Self.application + "/a.plist"))
        #expect(Self.groups.allSatisfy { !sandbox.mayBePickedAlone($0) && !iOS.mayBePickedAlone($0) })
        #expect(!macOS.mayBePickedAlone("/Users/me/Documents/a.plist") && !linux.mayBePickedAlone("/home/me/a.plist"))
    }

    @Test("The files of UserDefaults are in the folders named Preferences of every container, and only on Apple's systems")
    func preferences() {
        let places = [
            "/Users/me/Library/Preferences/com.example.plist", "/Users/me/library/preferences/com.example.plist",
            "/Library/Preferences/com.example.plist", "/Users/me/Library/Preferences/ByHost/com.example.plist",
            "/Users/me/Library/Containers/com.example/Data/Library/Preferences/com.example.plist",
            "/Users/me/Library/Group Containers/group.com.example/Library/Preferences/group.com.example.plist",
        ]
        for rules in [macOS, sandbox, iOS, tvOS] {
            #expect(places.allSatisfy(rules.belongsToUserDefaults))
            #expect(!rules.belongsToUserDefaults("/Users/me/Library/Preferences.plist"))
            #expect(!rules.belongsToUserDefaults("/Users/me/Library/Application Support/com.example.plist"))
        }
        #expect(places.allSatisfy { !linux.belongsToUserDefaults($0) })
    }

    @Test("Settings are in Application Support, and in Caches on tvOS, where they may be removed")
    func settings() {
        let (support, caches) = (Self.application + "/Library/Application Support", Self.application + "/Library/Caches")
        for rules in [iOS, macOS, sandbox] {
            let folder = rules.settingsFolder(applicationSupport: support, caches: caches)
            #expect(folder == support && !rules.mayPurge(folder + "/a.plist"))
        }
        #expect(tvOS.settingsFolder(applicationSupport: support, caches: caches) == caches)
        #expect(tvOS.settingsFolder(applicationSupport: nil, caches: nil) == Self.application)
        for rules in [tvOS, iOS] {
            #expect(rules.mayPurge(caches + "/a.plist") && rules.mayPurge("/private\(Self.application)/tmp/a.plist"))
            #expect(!rules.mayPurge(support + "/Library/Caches/a.plist") && !rules.mayPurge("/var/Library/Caches/a.plist"))
        }
        #expect(!macOS.mayPurge("/Users/me/Library/Caches/a.plist") && !linux.mayPurge("/tmp/a.plist"))
    }
}
