// What Apple's module Darwin adds in Swift to the headers, as far as the package uses it: macros and functions of C that cannot be imported.
// (Platform.swift, TiocConstants.swift and Darwin.swift.gyb in stdlib/public/Platform of swiftlang/swift)
@_exported import DarwinHeaders
@_exported import SwiftGlibc

public var errno: Int32 {
    get { __error().pointee }
    set { __error().pointee = newValue }
}
nonisolated(unsafe) public let MAP_FAILED: UnsafeMutableRawPointer! = nil

public var TIOCGWINSZ: UInt { 0x4008_7468 }

public var SIG_DFL: sig_t? { nil }
public var SIG_IGN: sig_t { fatalError() }
public var SIG_ERR: sig_t { fatalError() }
