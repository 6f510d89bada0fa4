import Foundation

/// Messages on standard error.
enum Diagnostics {
    static func print(_ text: String) {
        FileHandle.standardError.write(Data("benchmarks: \(text)\n".utf8))
    }
}
