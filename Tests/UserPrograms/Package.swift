// swift-tools-version: 5.10
import PackageDescription

// Programs as a user of the library writes them, with main.swift and in Swift 5 mode. Built with `swift build -c release`, which has to
// end: what is inlined into them, and how the library takes its arguments, decides what the optimizer has to do with them.
let programs = ["EndlessAssignment", "EndlessGroup", "EndlessHandle", "EndlessIncrement"]

let package = Package(
    name: "UserPrograms",
    platforms: [.macOS("15.0")],
    dependencies: [.package(name: "ObservableStorage", path: "../..")],
    targets: programs.map { .executableTarget(name: $0, dependencies: ["ObservableStorage"]) }
)
