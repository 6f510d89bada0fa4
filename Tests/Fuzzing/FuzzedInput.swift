import Foundation

/// What libFuzzer calls with each of its inputs. `Tests/Fuzzing/run` builds and starts it; no target of the package holds it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzedInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Data(bytes: start, count: count)
    if let violation = InputCheck(input).violation { fatalError(violation) }
    return 0
}
