import Foundation

/// The names of the files beside a property list: its lock file, its temporary files, copies, and bad files that were moved aside.
struct SidecarNames: Sendable, Hashable {
    private let name: String
    /// The property list's name, shortened if the names that contain it would be too long otherwise.
    private let stem: String

    // A name has at most 255 bytes; what is added to the stem needs fewer than 55.
    private static let longestStem = 200

    init(of name: String) {
        self.name = name
        guard name.utf8.count > Self.longestStem else {
            stem = name
            return
        }
        // Names with the same beginning still have different locks.
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

    /// The name of the copy from which a file is restored if its writer dies while it writes it in place.
    var copy: String {
        ".\(stem).copy"
    }

    /// The name of such a copy in a folder for the copies of several files.
    func copy(ofFileIn folder: String) -> String {
        ".\(stem).\(String(Self.hash(folder), radix: 16)).copy"
    }

    // FNV-1a: unlike `Hashable`, the same in every process.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

// MARK: - Temporary files

extension SidecarNames {
    /// The name of a temporary file.
    func temporary(process: pid_t, random: UInt64) -> String {
        ".\(stem).\(process)-\(String(random, radix: 16)).tmp"
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

// MARK: - Bad files

extension SidecarNames {
    private var quarantinePrefix: String {
        name + ".corrupt-"
    }

    /// The name of a bad file that is moved aside: `NAME.corrupt-20261120T101500.123456Z`, in UTC, so that names sort by age.
    func quarantine(at date: Date) -> String {
        let microseconds = Int((date.timeIntervalSince1970 * 1_000_000).rounded(.down))
        let digits = String(1_000_000 + microseconds % 1_000_000).dropFirst()
        let time = Date(timeIntervalSince1970: TimeInterval(microseconds / 1_000_000)).ISO8601Format()
        return quarantinePrefix + time.filter { $0 != "-" && $0 != ":" && $0 != "Z" } + "." + digits + "Z"
    }

    /// Whether a name is that of a bad file of this property list.
    func isQuarantine(_ name: String) -> Bool {
        guard name.hasPrefix(quarantinePrefix) else { return false }
        return name.dropFirst(quarantinePrefix.count).wholeMatch(of: /[0-9]{8}T[0-9]{6}\.[0-9]{6}Z/) != nil
    }
}
