import Foundation

/// The function that libFuzzer calls with each input. `Tests/Fuzzing/run` builds and starts it; it is not part of a target.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzedInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Data(bytes: start, count: count)
    if let violation = InputCheck(input).violation { fatalError(violation) }
    return 0
}
