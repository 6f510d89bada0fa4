import FoundationSubset

/// What the system lets this process do with a file, depending on where the file is.
///
/// The rules are functions of the system and of the process's home folder, so that those of every system can be tested on each.
struct SystemRules: Sendable {
    enum System: Sendable {
        case linux
        case macOS
        /// iOS, watchOS and visionOS.
        case iOS
        case tvOS
    }

    let system: System
    /// The home folder of the process: the folder of its own container, if it has one.
    let home: String
    /// Whether the process may only access its own files, those of its app groups, and those that the user has picked.
    let isSandboxed: Bool

    init(_ system: System, home: String, isSandboxed: Bool) {
        (self.system, self.isSandboxed) = (system, isSandboxed)
        self.home = Self.canonical(home)
    }

    private var suspendsProcesses: Bool { system == .iOS || system == .tvOS }

    // `/var` is a link to `/private/var` on Apple's systems, and both forms are in use.
    private static func canonical(_ path: String) -> String {
        path.hasPrefix("/private/var/") ? String(path.dropFirst("/private".count)) : path
    }

    /// Whether a path is below the home folder, judged by its text alone.
    private func isBelowHome(_ path: String) -> Bool {
        Self.canonical(path).hasPrefix(home + "/") && !path.contains("/../")
    }

    /// Whether the system ends the process if it holds the lock of a file, or waits for it, while it is suspended (0xDEAD10CC).
    ///
    /// It does so everywhere except in the data container of the application, also in the containers of app groups and of extensions.
    /// (dotnet/runtime#133697, and GRDB.swift#998 with the container of an extension, quote the system's messages.)
    func forbidsLockWhileSuspended(of path: String) -> Bool {
        suspendsProcesses && !(home.contains("/Containers/Data/Application/") && isBelowHome(path))
    }

    /// Whether a file may be one that the user has picked: the sandbox then grants that file, and nothing beside it. A folder is granted with
    /// everything in it. (Apple's "Accessing files from the macOS App Sandbox" and "Providing access to directories"; AppSandboxFileAccess
    /// asks for the folder in order to write beside a file.)
    func mayBePickedAlone(_ path: String) -> Bool {
        isSandboxed && !isBelowHome(path) && !Self.isInAppGroup(path)
    }

    /// The error of a call for something beside a file that was picked alone; nil if it is another one.
    func pickedFileError(_ path: String, _ error: SystemError) -> StorageError? {
        // The sandbox denies with that code; permissions deny with EACCES.
        error.code == EPERM && mayBePickedAlone(path) ? .folderNotGranted(file: path) : nil
    }

    /// Whether a file is one of those of `UserDefaults`: cfprefsd keeps their content in memory, and overwrites what others have written.
    /// (eclecticlight.co, "Settings, preferences and defaults", 2026)
    func belongsToUserDefaults(_ path: String) -> Bool {
        // Volumes of macOS are case-insensitive, unless they were formatted otherwise.
        system != .linux && path.lowercased().contains("/library/preferences/")
    }

    /// Rejects a path to write at which another program would overwrite what was written.
    func requireOwn(_ path: String) throws(StorageError) {
        guard belongsToUserDefaults(path) else { return }
        let reason = """
            it is a file of UserDefaults, whose daemon keeps its content in memory and overwrites it; use UserDefaultsBackend, or another \
            folder, or open it with access: .readOnly for what the daemon has written
            """
        throw .unwritable(file: path, reason: reason)
    }

    /// Whether the system may remove a file while the application is not running: one in Caches or the temporary folder.
    /// (Apple's "File System Programming Guide")
    func mayPurge(_ path: String) -> Bool {
        guard suspendsProcesses else { return false }
        guard isBelowHome(path) else { return Self.isInAppGroup(path) && path.contains("/Library/Caches/") }
        let relativePath = Self.canonical(path).dropFirst(home.count)
        return relativePath.hasPrefix("/Library/Caches/") || relativePath.hasPrefix("/tmp/")
    }

    /// The folder of settings: Application Support, or Caches on tvOS, where the system lets applications create nothing in the former.
    /// (analytics-swift#423 and purchases-ios#6487; the simulator allows it.)
    func settingsFolder(applicationSupport: String?, caches: String?) -> String {
        (system == .tvOS ? caches : applicationSupport) ?? home
    }

    /// The property list of a name in the container of an app group.
    ///
    /// - Parameter container: the container's folder; nil if the system has none for this process.
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` with the group and the remedy if there is no container.
    func file(_ name: String, ofAppGroup group: String, in container: URL?) throws(StorageError) -> URL {
        guard let container else {
            let reason = "this process has no container for it; add the group to the App Groups entitlement of its target"
            throw .unreadable(file: "app group \(group)", reason: reason)
        }
        let library = container.path + "/Library"
        let folder = settingsFolder(applicationSupport: library + "/Application Support", caches: library + "/Caches")
        return URL(fileURLWithPath: "\(folder)/\(name).plist", isDirectory: false)
    }

    /// Whether a path leads into the container of an app group: `Containers/Shared/AppGroup/ID` on iOS, `Library/Group Containers/ID` on
    /// macOS.
    static func isInAppGroup(_ path: String) -> Bool {
        path.contains("/Containers/Shared/AppGroup/") || path.contains("/Library/Group Containers/")
    }
}

extension SystemRules {
    #if os(tvOS)
        static let ofProcess = SystemRules(.tvOS, home: NSHomeDirectory(), isSandboxed: true)
    #elseif os(macOS) || targetEnvironment(macCatalyst)
        /// The rules of this system, which sets the variable for sandboxed processes.
        static let ofProcess = SystemRules(.macOS, home: NSHomeDirectory(), isSandboxed: getenv("APP_SANDBOX_CONTAINER_ID") != nil)
    #elseif canImport(Darwin)
        static let ofProcess = SystemRules(.iOS, home: NSHomeDirectory(), isSandboxed: true)
    #else
        static let ofProcess = SystemRules(.linux, home: "", isSandboxed: false)
    #endif
}
