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
            ("ObservableStorage", "NSPrivacyAccessedAPICategoryFileTimestamp", ["C617.1", "3B52.1"]),
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

    // MARK: Symbols

    // Apple's "Describing use of required reason API"; the ones for attribute lists are in two categories.
    private static let symbols = [
        "FileTimestamp": [
            "creationDate", "creationDateKey", "modificationDate", "fileModificationDate", "contentModificationDateKey", "stat", "fstat",
            "fstatat", "lstat", "getattrlist", "getattrlistbulk", "fgetattrlist", "getattrlistat",
        ],
        "SystemBootTime": ["systemUptime", "mach_absolute_time"],
        "DiskSpace": [
            "volumeAvailableCapacityKey", "volumeAvailableCapacityForImportantUsageKey", "volumeAvailableCapacityForOpportunisticUsageKey",
            "volumeTotalCapacityKey", "volumeAvailableCapacity", "volumeTotalCapacity", "systemFreeSize", "systemSize", "statfs", "statvfs",
            "fstatfs", "fstatvfs", "getattrlist", "fgetattrlist", "getattrlistat",
        ],
        "ActiveKeyboards": ["activeInputModes"],
        "UserDefaults": ["UserDefaults"],
    ]

    @Test(
        "Each library declares the categories of the symbols that it uses on Apple's systems, and no others",
        arguments: ["FoundationSubset", "PropertyListCoding", "ObservableStorage", "CloudStorage", "UserDefaultsStorage", "EtcdStorage"])
    func categories(library: String) throws {
        let folder = Self.sources.appendingPathComponent(library)
        let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
        var used: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let source = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            let words = Set(AppleSource(source).words)
            for (category, symbols) in Self.symbols where !words.isDisjoint(with: symbols) { used.insert(category) }
        }
        var declared: Set<String> = []
        let manifest = folder.appendingPathComponent("PrivacyInfo.xcprivacy")
        if FileManager.default.fileExists(atPath: manifest.path) {
            let value = try PropertyListValue.decode(Data(contentsOf: manifest)).value
            for type in value.dictionary?["NSPrivacyAccessedAPITypes"]?.array ?? [] {
                let category = try #require(type.dictionary?["NSPrivacyAccessedAPIType"]?.string)
                declared.insert(String(category.dropFirst("NSPrivacyAccessedAPICategory".count)))
            }
        }
        #expect(used == declared)
    }

    @Test("Symbols are looked for in the code for Apple's systems, and not in comments, texts and the code for others")
    func appleSource() {
        let source = """
            // one
            let a = "two" + three()
            #if os(Linux)
                four
            #elseif canImport(Darwin)
                five
                #if !canImport(Darwin)
                    six
                #else
                    seven
                #endif
            #else
                eight
            #endif
            #if canImport(UIKit)
                nine
            #else
                ten
            #endif
            """
        #expect(AppleSource(source).words == ["let", "a", "three", "five", "seven", "nine", "ten"])
    }
}

/// What Apple's compilers see of a source file, without comments and texts. Conditions that are neither always nor never met there count as
/// both.
private struct AppleSource {
    let words: [String]

    init(_ source: String) {
        var kept: [Substring] = []
        // For each open condition, whether its present branch may be compiled, and whether no other branch may.
        var open: [(isCompiled: Bool, isDecided: Bool)] = []
        for line in source.replacing(/"""(.|\n)*?"""/, with: "").split(separator: "\n") {
            let text = line.drop { $0 == " " }
            let (directive, condition) = (text.prefix { $0 != " " }, text.drop { $0 != " " }.dropFirst())
            switch directive {
            case "#if": open.append(Self.branch(condition, isDecided: false))
            case "#elseif": open[open.count - 1] = Self.branch(condition, isDecided: open[open.count - 1].isDecided)
            case "#else": open[open.count - 1].isCompiled = !open[open.count - 1].isDecided
            case "#endif": open.removeLast()
            default: if open.allSatisfy(\.isCompiled) { kept.append(line) }
            }
        }
        words = kept.flatMap { line in
            line.replacing(/"[^"]*"/, with: "").replacing(/\/\/.*/, with: "").split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        }.map(String.init)
    }

    private static func branch(_ condition: Substring, isDecided: Bool) -> (isCompiled: Bool, isDecided: Bool) {
        if isDecided { return (false, true) }
        let isMet = ["canImport(Darwin)", "!os(Linux)"].contains(condition)
        let isNeverMet = ["!canImport(Darwin)", "os(Linux)", "canImport(Glibc)", "canImport(Musl)"].contains(condition)
        return (!isNeverMet, isMet)
    }
}
