import Foundation
import PropertyListCoding
import Testing

@Suite("Privacy manifests", .timeLimit(.minutes(10)))
struct PrivacyManifestTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")

    @Test(
        "Each library declares the interfaces that need a reason, and no tracking",
        arguments: [
            ("ObservableStorage", "NSPrivacyAccessedAPICategoryFileTimestamp", ["C617.1"]),
            ("UserDefaultsStorage", "NSPrivacyAccessedAPICategoryUserDefaults", ["CA92.1", "1C8F.1"]),
        ])
    func reasons(library: String, category: String, reasons: [String]) throws {
        let bytes = try Data(contentsOf: Self.sources.appendingPathComponent("\(library)/PrivacyInfo.xcprivacy"))
        let declared: PropertyListValue = [
            "NSPrivacyAccessedAPIType": .string(category), "NSPrivacyAccessedAPITypeReasons": .array(reasons.map { .string($0) }),
        ]
        let (value, format) = try PropertyListValue.decode(bytes)
        #expect(format == .xml)
        #expect(
            value == [
                "NSPrivacyTracking": false, "NSPrivacyTrackingDomains": [], "NSPrivacyCollectedDataTypes": [],
                "NSPrivacyAccessedAPITypes": [declared],
            ])
    }
}
