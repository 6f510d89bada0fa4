// What the library and the tool use of Foundation and of the C library, on every platform. On Linux that is only a part of Foundation: all
// of it adds 45 MB to a statically linked program. Apple's systems have all of it anyway.
#if canImport(FoundationEssentials) && !canImport(Darwin)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
#if canImport(Darwin)
    @_exported public import Darwin
#elseif canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#endif
