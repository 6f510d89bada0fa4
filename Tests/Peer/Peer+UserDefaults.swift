import Foundation
import ObservableStorage
import PropertyListCoding
import UserDefaultsStorage

extension Peer {
    private struct UnknownSuite: Error {}

    /// Prints each entry of a suite: its type in the library, and the results of Foundation's getters.
    static func readUserDefaults(of suite: String) throws {
        guard let defaults = UserDefaults(suiteName: suite), let backend = UserDefaultsBackend(suiteName: suite) else {
            throw UnknownSuite()
        }
        for (key, value) in try backend.load().values.sorted(by: { $0.key < $1.key }) {
            let (boolean, integer, real) = (defaults.bool(forKey: key), defaults.integer(forKey: key), defaults.double(forKey: key))
            print(key, value.typeName, boolean, integer, real, defaults.string(forKey: key) ?? "-")
        }
    }

    /// Edits the process's own user defaults, and prints the entries of Foundation and the library, under both names.
    static func useOwnUserDefaults() throws {
        let name = ProcessInfo.processInfo.processName
        UserDefaults.standard.register(defaults: ["registered": 1])
        UserDefaults.standard.set(1, forKey: "theirs")
        let (own, named) = (UserDefaultsBackend(), UserDefaultsBackend(suiteName: name))
        _ = try own.edit { $0["ours"] = 2 }
        _ = try named?.edit { $0["named"] = 3 }
        print(try own.load().values.keys.sorted(), try named?.load().values.keys.sorted() ?? [])
        print(UserDefaults.standard.integer(forKey: "ours"), UserDefaults.standard.integer(forKey: "named"))
    }

    /// Makes an edit that is too large to be stored, and prints the remaining state, in Foundation and in the file.
    static func makeTooLargeAnEdit() throws {
        guard let defaults = UserDefaults(suiteName: "suite"), let backend = UserDefaultsBackend(suiteName: "suite") else {
            throw UnknownSuite()
        }
        _ = try backend.edit { entries in
            entries["count"] = 1
            entries["kept"] = "text"
        }
        try limitFiles(to: 1_024)
        do {
            _ = try backend.edit { entries in
                entries["count"] = true
                entries["large"] = .string(String(repeating: "x", count: 5_000))
            }
        } catch StorageError.unwritable {
            print("unwritable", try backend.load().values["count"]?.typeName ?? "-", defaults.string(forKey: "large") ?? "-")
        }
        let folder = URL(fileURLWithPath: ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? "")
        let entries = try ObservableStore(at: folder.appendingPathComponent("suite.plist")).entries
        print(entries == ["count": 1, "kept": "text"])
    }

    /// Makes writes beyond a size fail, as on a full disk.
    private static func limitFiles(to bytes: UInt) throws {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit()
        limit.rlim_cur = rlim_t(bytes)
        limit.rlim_max = rlim_t(bytes)
        guard setrlimit(fileSizeLimit, &limit) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

#if canImport(Darwin)
    private let fileSizeLimit = RLIMIT_FSIZE
#else
    private let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#endif
