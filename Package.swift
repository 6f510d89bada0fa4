// swift-tools-version: 6.0
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func example(_ name: String) -> Target {
    .executableTarget(name: name, dependencies: ["ObservableStorage"], path: "Examples/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "ObservableStorage",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ObservableStorage", targets: ["ObservableStorage"]),
        .library(name: "PropertyListCoding", targets: ["PropertyListCoding"]),
        .executable(name: "prefs", targets: ["prefs"]),
    ],
    targets: [
        .target(name: "PropertyListCoding", swiftSettings: settings),
        .target(name: "ObservableStorage", dependencies: ["PropertyListCoding"], swiftSettings: settings),
        .executableTarget(name: "prefs", dependencies: ["ObservableStorage", "PropertyListCoding"], swiftSettings: settings),
        example("AsyncObservation"),
        example("UpdateListeners"),
        example("CrossProcess"),
        .executableTarget(name: "FoundationOracle", path: "Tests/FoundationOracle", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["ObservableStorage", "PropertyListCoding"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .executableTarget(
            name: "Peer", dependencies: ["ObservableStorage", "PropertyListCoding", "TestSupport"], path: "Tests/Peer",
            swiftSettings: settings),
        .executableTarget(
            name: "benchmarks", dependencies: ["ObservableStorage", "PropertyListCoding", "TestSupport"], path: "Tests/benchmarks",
            swiftSettings: settings),
        .testTarget(
            name: "benchmarksTests", dependencies: ["benchmarks"], swiftSettings: settings),
        .testTarget(
            name: "PropertyListCodingTests", dependencies: ["FoundationOracle", "PropertyListCoding", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "ObservableStorageTests", dependencies: ["Peer", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "prefsTests", dependencies: ["prefs", "Peer", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
