import FoundationSubset

/// Starts a thread that runs a closure, for calls that block without a time limit; all resources are released when the closure returns.
///
/// - Parameter stackSize: in bytes, or nil for the system's default.
/// - Returns: 0, or the error code if no thread could be started; the closure does not run then.
package func startThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
    let box = Box(body)
    let code = withUnsafeTemporaryPointer { identifier in
        pthread_create(identifier, &attributes, { run($0) }, Unmanaged.passRetained(box).toOpaque())
    }
    if code != 0 { Unmanaged.passUnretained(box).release() }
    return code
}

// The pointer is optional in some C libraries only.
private func run(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let pointer else { return nil }
    Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(pointer).takeRetainedValue().value()
    return nil
}

// The type of a thread identifier differs between C libraries.
private func withUnsafeTemporaryPointer<Pointee, Result>(_ body: (UnsafeMutablePointer<Pointee>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: Pointee.self, capacity: 1) { buffer in body(buffer.baseAddress.unsafelyUnwrapped) }
}
