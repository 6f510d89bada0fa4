import Foundation

/// Whether the long versions of tests are requested, with `OBSERVABLE_STORAGE_LONG_TESTS=1`.
public let isLong = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_LONG_TESTS"] != nil

/// Whether a program is on the search path.
public func isInstalled(_ program: String) -> Bool {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
}

/// The first seed of randomized tests: constant, unless `OBSERVABLE_STORAGE_SEED` sets it.
public let firstSeed = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_SEED"].flatMap { UInt64($0) } ?? 1
