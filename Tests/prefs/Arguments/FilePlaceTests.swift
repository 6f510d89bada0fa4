import Foundation
import Testing

@testable import prefs

@Suite("The operand FILE", .timeLimit(.minutes(5)))
struct FilePlaceTests {
    private func path(_ operand: String, _ environment: [String: String] = [:]) -> String {
        FilePlace(operand, environment: environment, home: "/home/me").url.path
    }

    @Test("A slash or the ending makes it a path", arguments: ["./settings", "a/b", "settings.plist"])
    func paths(_ operand: String) {
        #expect(path(operand, ["XDG_CONFIG_HOME": "/config"]) == URL(fileURLWithPath: operand).path)
    }

    #if os(Linux)
        @Test("A domain is in the configuration folder, which is ignored unless it is absolute")
        func domains() {
            #expect(path("org.example") == "/home/me/.config/org.example.plist")
            #expect(path("org.example", ["XDG_CONFIG_HOME": "/config"]) == "/config/org.example.plist")
            #expect(path("org.example", ["XDG_CONFIG_HOME": "config"]) == "/home/me/.config/org.example.plist")
            #expect(path("org.example", ["XDG_CONFIG_HOME": ""]) == "/home/me/.config/org.example.plist")
            #expect(path("org.example", ["HOME": "/elsewhere"]) == "/elsewhere/.config/org.example.plist")
        }
    #endif
}
