import Foundation

/// Whether the long versions of tests are requested, with `OBSERVABLE_STORAGE_LONG_TESTS=1`.
public let isLong = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_LONG_TESTS"] != nil

/// Whether the libraries are optimized: tests that only compute try more then.
public let isOptimized: Bool = {
    #if DEBUG
        false
    #else
        true
    #endif
}()

/// Whether a program is on the search path.
public func isInstalled(_ program: String) -> Bool {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
}

/// The first seed of randomized tests: constant, unless `OBSERVABLE_STORAGE_SEED` sets it.
public let firstSeed = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_SEED"].flatMap { UInt64($0) } ?? 1

/// The indices of the steps that a test visits, of an enumeration in which each step is of some kind: all in the long form.
///
/// Otherwise every `stride`-th of each kind, at least one. ``firstSeed`` chooses the first: consecutive seeds visit all.
public func visitedSteps(of kinds: [some Hashable], every stride: Int) -> [Int] {
    if isLong { return Array(kinds.indices) }
    return Dictionary(grouping: kinds.indices) { kinds[$0] }.values.flatMap { steps in
        let first = Int(firstSeed % UInt64(min(stride, steps.count)))
        return Swift.stride(from: first, to: steps.count, by: stride).map { steps[$0] }
    }.sorted()
}

/// The elements that a test visits which only computes: all if the libraries are optimized and in the long form, otherwise every fourth.
public func visited<Element>(_ all: some Collection<Element>) -> [Element] {
    let all = Array(all)
    return isOptimized ? all : visitedSteps(of: all.map { _ in 0 }, every: 4).map { all[$0] }
}
