import Foundation

/// Whether the long forms of tests are asked for, by `OBSERVABLE_STORAGE_LONG_TESTS=1`.
public let isLong = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_LONG_TESTS"] != nil
