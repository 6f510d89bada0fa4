// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Tests run optimized libraries in a release build, and are not optimized themselves.
let unoptimized = ["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"]
let testSettings = settings + [.unsafeFlags(unoptimized, .when(configuration: .release))]

// The privacy manifests for uploads to Apple's stores. Elsewhere they are no resources: a bundle would import all of Foundation.
let manifest = "PrivacyInfo.xcprivacy"
#if canImport(Darwin)
    let (privacy, excluded): ([Resource], [String]) = ([.copy(manifest)], [])
#else
    let (privacy, excluded): ([Resource], [String]) = ([], [manifest])
#endif

func example(_ name: String, _ dependencies: [Target.Dependency] = ["ObservableStorage"]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Examples/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "ObservableStorage",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ObservableStorage", targets: ["ObservableStorage"]),
        .library(name: "CloudStorage", targets: ["CloudStorage"]),
        .library(name: "UserDefaultsStorage", targets: ["UserDefaultsStorage"]),
        .library(name: "EtcdStorage", targets: ["EtcdStorage"]),
        .library(name: "ObservableStorageTesting", targets: ["ObservableStorageTesting"]),
        .library(name: "PropertyListCoding", targets: ["PropertyListCoding"]),
        .executable(name: "prefs", targets: ["prefs"]),
    ],
    targets: [
        .target(name: "FoundationSubset", swiftSettings: settings),
        .target(name: "PropertyListCoding", dependencies: ["FoundationSubset"], swiftSettings: settings),
        .target(
            name: "ObservableStorage", dependencies: ["FoundationSubset", "PropertyListCoding"], exclude: excluded, resources: privacy,
            swiftSettings: settings),
        .target(
            name: "CloudStorage", dependencies: ["FoundationSubset", "ObservableStorage", "PropertyListCoding"], swiftSettings: settings),
        .target(
            name: "UserDefaultsStorage", dependencies: ["ObservableStorage", "PropertyListCoding"], exclude: excluded, resources: privacy,
            swiftSettings: settings),
        .target(
            name: "EtcdStorage", dependencies: ["FoundationSubset", "ObservableStorage", "PropertyListCoding"], swiftSettings: settings),
        .target(
            name: "ObservableStorageTesting", dependencies: ["FoundationSubset", "ObservableStorage"], swiftSettings: settings),
        .executableTarget(
            name: "prefs", dependencies: ["EtcdStorage", "FoundationSubset", "ObservableStorage", "PropertyListCoding"],
            swiftSettings: settings),
        example("AsyncObservation"),
        example("UpdateListeners"),
        example("SwiftUIApp"),
        example("CrossProcess"),
        example("ConfigTool"),
        example("Daemon"),
        example("Workers"),
        example("Fleet", ["EtcdStorage", "ObservableStorage"]),
        .executableTarget(name: "FoundationOracle", path: "Tests/FoundationOracle", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["ObservableStorage", "PropertyListCoding", "UserDefaultsStorage"],
            path: "Tests/TestSupport", swiftSettings: settings),
        .executableTarget(
            name: "Peer",
            dependencies: ["EtcdStorage", "ObservableStorage", "PropertyListCoding", "TestSupport", "UserDefaultsStorage"],
            path: "Tests/Peer", swiftSettings: settings),
        .executableTarget(
            name: "benchmarks", dependencies: ["EtcdStorage", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            path: "Tests/benchmarks", exclude: ["Etcd/transactions.go"], swiftSettings: settings),
        .testTarget(
            name: "benchmarksTests", dependencies: ["benchmarks"], swiftSettings: testSettings),
        .testTarget(
            name: "PropertyListCodingTests", dependencies: ["FoundationOracle", "PropertyListCoding", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "ObservableStorageTests",
            dependencies: ["ObservableStorage", "ObservableStorageTesting", "PropertyListCoding", "TestSupport", "UserDefaultsStorage"],
            swiftSettings: testSettings),
        .testTarget(
            name: "CloudStorageTests", dependencies: ["CloudStorage", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "FileStorageTests",
            dependencies: [
                "Peer", "ObservableStorage", "ObservableStorageTesting", "PropertyListCoding", "TestSupport", "UserDefaultsStorage",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "PackageTests",
            dependencies: [
                "CloudStorage", "ConfigTool", "Daemon", "Peer", "Workers", "ObservableStorage", "ObservableStorageTesting",
                "PropertyListCoding", "TestSupport", "UserDefaultsStorage",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "EtcdStorageTests",
            dependencies: [
                "EtcdStorage", "FoundationSubset", "ObservableStorage", "ObservableStorageTesting", "Peer", "PropertyListCoding",
                "TestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "prefsTests", dependencies: ["prefs", "Peer", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            swiftSettings: testSettings),
    ],
    swiftLanguageModes: [.v6]
)
