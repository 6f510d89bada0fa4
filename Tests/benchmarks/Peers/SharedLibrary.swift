import Foundation

/// A C library that is opened at run time, so that the benchmark also runs where it is not installed.
struct SharedLibrary: @unchecked Sendable {
    // Never closed: its functions remain valid until the process ends, and may be called from any thread.
    private let handle: UnsafeMutableRawPointer

    /// Opens the first of the files that exists; nil if there is none.
    init?(_ names: String...) {
        guard let handle = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
        self.handle = handle
    }

    /// A function of the library, as a C function type.
    ///
    /// - Throws: ``Failure`` if the library has no such function.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) throws -> Function {
        guard let address = dlsym(handle, name) else { throw Failure("the library has no function \(name)") }
        return unsafeBitCast(address, to: type)
    }
}
