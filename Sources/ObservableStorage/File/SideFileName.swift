import Foundation

/// The names of the files that stand beside a property list: its lock, and what it is written to at first, or before that.
struct SideFileName: Sendable, Hashable {
    /// The property list's name, shortened where no name beside it would fit otherwise.
    let stem: String

    // A name has 255 bytes; what is put around the stem needs fewer than 55.
    private static let longestStem = 200

    init(of name: String) {
        guard name.utf8.count > Self.longestStem else {
            stem = name
            return
        }
        // Names that begin alike still have locks of their own.
        let suffix = "~" + String(Self.hash(name), radix: 16)
        var start = Substring(name)
        while start.utf8.count + suffix.utf8.count > Self.longestStem {
            start.unicodeScalars.removeLast()
        }
        stem = start + suffix
    }

    /// The name of the lock file.
    var lock: String {
        ".\(stem).lock"
    }

    /// The name of the copy from which a file is restored that was being written in place.
    var copy: String {
        ".\(stem).copy"
    }

    /// The name of such a copy in a folder for those of several files.
    func copy(ofFileIn folder: String) -> String {
        ".\(stem).\(String(Self.hash(folder), radix: 16)).copy"
    }

    /// The name of a temporary file.
    func temporary(process: pid_t, random: UInt64) -> String {
        ".\(stem).\(process)-\(String(random, radix: 16)).tmp"
    }

    /// The process that made a temporary file; nothing if the name is not one of this property list's temporary files.
    func process(ofTemporary name: String) -> pid_t? {
        // Bytes are compared: to a String, names that differ in normalization are equal.
        let start = Array(".\(stem).".utf8)
        let end = Array(".tmp".utf8)
        let name = Array(name.utf8)
        guard name.count > start.count + end.count, name.starts(with: start), name.suffix(end.count).elementsEqual(end) else { return nil }
        let parts = String(decoding: name[start.count..<name.count - end.count], as: UTF8.self)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let process = pid_t(parts[0]), process > 0, UInt64(parts[1], radix: 16) != nil else { return nil }
        return process
    }

    // FNV-1a: unlike `Hashable`, the same in every process.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension ResolvedPath {
    /// A name in a folder that was resolved before; a link of that name is not followed.
    init(_ name: String, in folder: String) {
        path = folder == "/" ? "/" + name : folder + "/" + name
        self.folder = folder
        self.name = name
    }
}
