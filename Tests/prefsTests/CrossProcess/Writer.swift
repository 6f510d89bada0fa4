import Foundation
import TestSupport

/// A way in which another program changes the number under `count` in an XML property list.
enum Writer: String, CaseIterable {
    /// Python's plistlib, then a rename over the file.
    case pythonRename
    /// Python's plistlib into the open file, piece by piece.
    case pythonInPlace
    /// `plutil -replace`.
    case plutil
    /// An editor that moves the old file away, writes a new one under its name, and removes the old one.
    case editor
    /// Foundation's `UserDefaults(suiteName:)`.
    case userDefaults

    /// The writers whose programs are installed.
    static let installed = allCases.filter { writer in
        switch writer {
        case .pythonRename, .pythonInPlace: isInstalled("python3")
        case .plutil: isInstalled("plutil")
        case .editor: true
        case .userDefaults: canUseUserDefaults
        }
    }

    /// Sets the number in a file, following symbolic links.
    func write(_ count: Int, to file: URL) async throws {
        let program: Subprocess
        switch self {
        case .pythonRename, .pythonInPlace:
            program = try await Subprocess.finished("python3", ["-c", Self.pythonScript, rawValue, file.path, "\(count)"])
        case .plutil:
            program = try await Subprocess.finished("plutil", ["-replace", "count", "-integer", "\(count)", file.path])
        case .editor:
            return try Self.edit(file, count)
        case .userDefaults:
            program = try await Subprocess.finished(
                "Peer", ["user-defaults", file.deletingPathExtension().lastPathComponent, "count", "\(count)"],
                environment: ["XDG_CONFIG_HOME": file.deletingLastPathComponent().path])
        }
        guard program.status == 0 else { throw Failed(errors: program.errors) }
    }

    struct Failed: Error {
        let errors: String
    }

    /// A property list that is too large to be written in one piece.
    static func initialList() throws -> Data {
        let filler = (0..<2000).map { "\t<key>filler\($0)</key>\n\t<string>\(String(repeating: "x", count: 50))</string>\n" }.joined()
        let head = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n<plist version=\"1.0\">\n<dict>\n"
        return Data("\(head)\t<key>count</key>\n\t<integer>0</integer>\n\(filler)</dict>\n</plist>\n".utf8)
    }

    private static let pythonScript = """
        import os, plistlib, sys, time
        way, path, count = sys.argv[1:]
        with open(path, 'rb') as file:
            entries = plistlib.load(file)
        entries['count'] = int(count)
        bytes = plistlib.dumps(entries)
        if way == 'pythonRename':
            with open(path + '.tmp', 'wb') as file:
                file.write(bytes)
            os.replace(path + '.tmp', path)
        else:
            with open(path, 'wb', buffering=0) as file:
                for start in range(0, len(bytes), len(bytes) // 4):
                    file.write(bytes[start:start + len(bytes) // 4])
                    time.sleep(0.002)
        """

    /// Replaces the file as an editor does, in one process: starting programs in between would leave the file missing for longer.
    private static func edit(_ file: URL, _ count: Int) throws {
        let text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
        let edited = text.replacing(/<integer>[0-9]*<\/integer>/, with: "<integer>\(count)</integer>")
        guard rename(file.path, file.path + "~") == 0 else { throw Failed(errors: "cannot rename \(file.path)") }
        try Data(edited.utf8).write(to: file)
        try FileManager.default.removeItem(atPath: file.path + "~")
    }
}

#if os(Linux)
    private let canUseUserDefaults = true
#else
    // There the defaults daemon stores them outside the tests' folders.
    private let canUseUserDefaults = false
#endif
