// swift-tools-version: 5.10
import PackageDescription

// Programs as users of the library write them, with main.swift and in Swift 5 mode. `swift build -c release` must terminate
// for them: inlined code, and the library's parameter ownership, determine what the optimizer has to process.
let programs = ["EndlessAssignment", "EndlessGroup", "EndlessHandle", "EndlessIncrement"]

let package = Package(
    name: "UserPrograms",
    platforms: [.macOS("15.0")],
    dependencies: [.package(name: "ObservableStorage", path: "../..")],
    targets: programs.map { .executableTarget(name: $0, dependencies: ["ObservableStorage"]) }
)
