// swift-tools-version: 6.2
import Foundation
import PackageDescription

// A package of its own, because it depends on others: on stand-ins with their declarations, or with `REAL_PACKAGES=1` on themselves.
let isReal = ProcessInfo.processInfo.environment["REAL_PACKAGES"] == "1"

let remote: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
]
let products: [Target.Dependency] = [
    .product(name: "Configuration", package: "swift-configuration"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]
let standIns: [Target] = [
    .target(name: "Configuration", path: "StandIns/Configuration"),
    .target(name: "ServiceLifecycle", path: "StandIns/ServiceLifecycle"),
]

let package = Package(
    name: "StoreConfiguration",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ObservableStorage", path: "../..")] + (isReal ? remote : []),
    targets: [
        .target(
            name: "StoreConfiguration",
            dependencies: ["ObservableStorage"] + (isReal ? products : ["Configuration", "ServiceLifecycle"])),
        .testTarget(
            name: "StoreConfigurationTests",
            dependencies: ["ObservableStorage", "StoreConfiguration"] + (isReal ? products : ["Configuration", "ServiceLifecycle"])),
    ] + (isReal ? [] : standIns),
    swiftLanguageModes: [.v6]
)
