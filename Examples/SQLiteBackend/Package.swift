// swift-tools-version: 6.0
import PackageDescription

// A package of its own, because it needs SQLite's C library: `apt-get install libsqlite3-dev` on Debian.
let package = Package(
    name: "SQLiteBackend",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ObservableStorage", path: "../..")],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(name: "SQLiteBackend", dependencies: ["CSQLite", "ObservableStorage"]),
        .executableTarget(name: "SQLiteDemo", dependencies: ["ObservableStorage", "SQLiteBackend"]),
        .testTarget(
            name: "SQLiteBackendTests",
            dependencies: [
                "ObservableStorage", "SQLiteBackend", "SQLiteDemo",
                .product(name: "ObservableStorageTesting", package: "ObservableStorage"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
