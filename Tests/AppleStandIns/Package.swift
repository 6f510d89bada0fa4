// swift-tools-version: 6.0
import PackageDescription

// The libraries with Combine and SwiftUI importable: what is behind `#if canImport` of them is compiled, and runs in the tests. On Linux,
// both are stand-ins. The tests are those that start no programs, so that they run on iOS as well. `.ci/run` has the thread sanitizer look
// at them. `Links` leads to the sources and tests.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// As in the package itself.
let unoptimized = ["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"]
let testSettings = settings + [.unsafeFlags(unoptimized, .when(configuration: .release))]

#if canImport(Darwin)
    let standIns: [Target] = []
    let services: [Target] = []
#else
    let standIns: [Target] = [
        .target(name: "Combine", path: "Modules/Combine"),
        .target(name: "SwiftUI", dependencies: ["Combine"], path: "Modules/SwiftUI"),
    ]
    // Its connections and its client are where its threads meet.
    let services: [Target] = [
        .target(
            name: "EtcdStorage", dependencies: ["FoundationSubset", "ObservableStorage", "PropertyListCoding"],
            path: "Links/Sources/EtcdStorage", swiftSettings: settings),
        .testTarget(
            name: "EtcdStorageTests",
            dependencies: ["EtcdStorage", "FoundationSubset", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            path: "Links/EtcdTests", exclude: ["Backend", "Processes", "Servers", "TLS", "Wire"], swiftSettings: testSettings),
    ]
#endif
let frameworks = standIns.map { Target.Dependency(stringLiteral: $0.name) }

let package = Package(
    name: "AppleStandIns",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [.library(name: "AppleStandIns", targets: ["CloudStorage", "ObservableStorage", "UserDefaultsStorage"])],
    targets: standIns + [
        .target(name: "FoundationSubset", path: "Links/Sources/FoundationSubset", swiftSettings: settings),
        .target(
            name: "PropertyListCoding", dependencies: ["FoundationSubset"], path: "Links/Sources/PropertyListCoding",
            swiftSettings: settings),
        .target(
            name: "ObservableStorage", dependencies: frameworks + ["FoundationSubset", "PropertyListCoding"],
            path: "Links/Sources/ObservableStorage", exclude: ["PrivacyInfo.xcprivacy"], swiftSettings: settings),
        .target(
            name: "CloudStorage", dependencies: ["FoundationSubset", "ObservableStorage", "PropertyListCoding"],
            path: "Links/Sources/CloudStorage", swiftSettings: settings),
        .target(
            name: "UserDefaultsStorage", dependencies: ["ObservableStorage", "PropertyListCoding"],
            path: "Links/Sources/UserDefaultsStorage", exclude: ["PrivacyInfo.xcprivacy"], swiftSettings: settings),
        .target(
            name: "ObservableStorageTesting", dependencies: ["FoundationSubset", "ObservableStorage"],
            path: "Links/Sources/ObservableStorageTesting", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["ObservableStorage", "PropertyListCoding", "UserDefaultsStorage"],
            path: "Links/TestSupport", swiftSettings: settings),
        .testTarget(
            name: "ObservableStorageTests",
            dependencies: frameworks + [
                "ObservableStorage", "ObservableStorageTesting", "PropertyListCoding", "TestSupport", "UserDefaultsStorage",
            ],
            path: "Links/Tests", swiftSettings: testSettings),
        .testTarget(
            name: "CloudStorageTests", dependencies: ["CloudStorage", "ObservableStorage", "PropertyListCoding", "TestSupport"],
            path: "Links/CloudTests", swiftSettings: testSettings),
    ] + services,
    swiftLanguageModes: [.v6]
)
