import FoundationSubset

// The files beside a property list: its lock file, its temporary files, copies, and malformed files that were renamed.
extension ResolvedPath {
    // A name has at most 255 bytes; the additions to the stem take fewer than 55.
    private static let longestStem = 200

    /// The property list's name, shortened if the names that contain it would be too long otherwise.
    private var stem: String {
        guard name.utf8.count > Self.longestStem else { return name }
        // Names with the same beginning still have different locks.
        let suffix = "~" + String(Self.hash(name), radix: 16)
        var start = Substring(name)
        while start.utf8.count + suffix.utf8.count > Self.longestStem {
            start.unicodeScalars.removeLast()
        }
        return start + suffix
    }

    var lockFile: ResolvedPath { sibling(".\(stem).lock") }

    var editLogs: ResolvedPath { sibling(".\(stem).edits") }

    var journal: ResolvedPath { sibling(".\(stem).journal") }

    /// The copy from which the file is restored if its writer dies while it writes it in place.
    var copy: ResolvedPath { sibling(".\(stem).copy") }

    /// The name of such a copy in a folder for the copies of several files.
    var nameOfCopy: String { ".\(stem).\(String(Self.hash(folder), radix: 16)).copy" }

    // FNV-1a: unlike `Hashable`, the same in every process.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

// MARK: - Temporary files

extension ResolvedPath {
    func temporaryFile(process: pid_t, random: UInt64) -> ResolvedPath {
        sibling(".\(stem).\(process)-\(String(random, radix: 16)).tmp")
    }

    /// The process that created a temporary file; nil if the name is not that of a temporary file of this property list.
    func process(ofTemporary name: String) -> pid_t? {
        // Compared by bytes: strings that differ in normalization only are equal.
        let start = Array(".\(stem).".utf8)
        let end = Array(".tmp".utf8)
        let name = Array(name.utf8)
        guard name.count > start.count + end.count, name.starts(with: start), name.suffix(end.count).elementsEqual(end) else { return nil }
        let parts = String(decoding: name[start.count..<name.count - end.count], as: UTF8.self)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let process = pid_t(parts[0]), process > 0, UInt64(parts[1], radix: 16) != nil else { return nil }
        return process
    }
}

// MARK: - Malformed files

extension ResolvedPath {
    private var quarantinePrefix: String { stem + ".corrupt-" }

    /// The new path of a malformed file: `NAME.corrupt-20261120T101500.123456Z`, in UTC, so that names sort by age.
    func quarantine(at date: Date) -> ResolvedPath {
        let microseconds = Int64((date.timeIntervalSince1970 * 1_000_000).rounded(.down))
        let digits = String(1_000_000 + microseconds % 1_000_000).dropFirst()
        let time = Date(timeIntervalSince1970: TimeInterval(microseconds / 1_000_000)).ISO8601Format()
        return sibling(quarantinePrefix + time.filter { $0 != "-" && $0 != ":" && $0 != "Z" } + "." + digits + "Z")
    }

    func isQuarantine(_ name: String) -> Bool {
        let start = quarantinePrefix.utf8
        guard name.utf8.starts(with: start) else { return false }
        return Substring(name.utf8.dropFirst(start.count)).wholeMatch(of: /[0-9]{8}T[0-9]{6}\.[0-9]{6}Z/) != nil
    }
}
