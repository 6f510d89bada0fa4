import Foundation

/// Whether the long forms of tests are asked for, by `OBSERVABLE_STORAGE_LONG_TESTS=1`.
public let isLong = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_LONG_TESTS"] != nil

/// Whether tests are asked for that keep the machine busy for as long as they run, by `OBSERVABLE_STORAGE_TORTURE=1`.
///
/// They have a run of their own in `.ci/run`: beside all others, on two cores, they kept those waiting past their time limits.
public let isTorture = isLong || ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_TORTURE"] != nil

/// The first of the seeds of tests that go by chance: always the same unless `OBSERVABLE_STORAGE_SEED` says otherwise.
public let firstSeed = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_SEED"].flatMap { UInt64($0) } ?? 1
