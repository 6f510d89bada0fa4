// What Apple's module Musl adds in Swift to the headers, as far as the package uses it. It has the name of the other C library because
// the toolchain's Foundation imports that. (Platform.swift and TiocConstants.swift in stdlib/public/Platform of swiftlang/swift)
@_exported import SwiftGlibc

public var errno: Int32 {
    get { __errno_location().pointee }
    set { __errno_location().pointee = newValue }
}
nonisolated(unsafe) public let MAP_FAILED: UnsafeMutableRawPointer! = UnsafeMutableRawPointer(bitPattern: -1)

public var TIOCGWINSZ: UInt { 0x5413 }

public var SIG_DFL: sighandler_t? { nil }
public var SIG_IGN: sighandler_t { fatalError() }
public var SIG_ERR: sighandler_t { fatalError() }
