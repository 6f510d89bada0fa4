import Foundation

/// Whether the long forms of tests are asked for, by `OBSERVABLE_STORAGE_LONG_TESTS=1`.
public let isLong = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_LONG_TESTS"] != nil

/// The first of the seeds of tests that go by chance: always the same unless `OBSERVABLE_STORAGE_SEED` says otherwise.
public let firstSeed = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_SEED"].flatMap { UInt64($0) } ?? 1
