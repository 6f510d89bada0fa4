// The C library of Apple's systems, which the modules of the toolchain on Linux import under the name Glibc.
@_exported public import Glibc
