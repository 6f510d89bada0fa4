import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Files to which the system has rules", .timeLimit(.minutes(10)))
struct SystemRulesOfFilesTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: file)
    }

    private func calls(_ rules: SystemRules) -> FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.rules = rules
        return calls
    }

    private func backend(_ file: URL, _ calls: FileSystemCalls, access: StorageAccess = .readWrite) -> PropertyListFile {
        PropertyListFile(at: file, configuration: .with { $0.access = access }, calls: calls)
    }

    // MARK: Picked files

    /// The calls of a sandboxed process to which one file was granted: it opens nothing else in the folder.
    ///
    /// - Parameter denied: which of the others are denied.
    private func picked(denying denied: @escaping @Sendable (_ path: ResolvedPath, _ flags: Int32) -> Bool) -> FileSystemCalls {
        var calls = calls(SystemRules(.macOS, home: "/Users/me/Library/Containers/com.example/Data", isSandboxed: true))
        calls.openDescriptor = { [folder = folder.url.path, file = file.path] path, flags, mode throws(SystemError) in
            if path.path.hasPrefix(folder), path.path != file, denied(path, flags) { throw SystemError(EPERM) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        return calls
    }

    @Test("A file that the user has picked is read, and writing it says that its folder has to be picked", arguments: 0..<3)
    func pickedFile(way: Int) throws {
        let calls = picked { path, flags in
            switch way {
            case 0: true
            case 1: path.name == "."
            default: flags & O_CREAT != 0
            }
        }
        let backend = backend(file, calls)
        #expect(try backend.load().values == ["count": 1])
        let expected = StorageError.folderNotGranted(file: file.path)
        #expect(throws: expected) { try backend.edit { $0["count"] = 2 } }
        #expect("\(expected)".contains("let the user pick its folder") && "\(expected)".contains("access: .readOnly"))
        #expect(try folder.names() == ["settings.plist"])
    }

    @Test("A store of a picked file keeps its edits in memory, and tells the remedy in its failures and in its durability")
    func storeOfPickedFile() async throws {
        let store = try ObservableStore(backend: backend(file, picked { _, _ in true }))
        let failures = store.failures
        store[Keys.count] = 2
        #expect(store.durability == .flushed(reason: .folderNotGranted(file: file.path)))
        await #expect(throws: StorageError.folderNotGranted(file: file.path, edits: .kept)) { try await store.flush() }
        await #expect(throws: StorageError.folderNotGranted(file: file.path, edits: .rolledBack)) {
            try await store.update { $0[Keys.count] = 3 }
        }
        for await failure in failures {
            guard case .folderNotGranted = failure else { continue }
            break
        }
        #expect(store[Keys.count] == 2)
        try await store.close(discardingEdits: true)
    }

    @Test("A picked file that is only read needs no folder, and reports nothing")
    func readOnlyPickedFile() async throws {
        let store = try ObservableStore(backend: backend(file, picked { _, _ in true }, access: .readOnly))
        let failures = store.failures
        #expect(store[Keys.count] == 1)
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
    }

    @Test("Without a sandbox, or in the process's own folders, the same error is that of the system", arguments: [true, false])
    func otherErrors(isSandboxed: Bool) throws {
        var calls = picked { _, _ in true }
        calls.rules = SystemRules(.macOS, home: folder.url.path, isSandboxed: isSandboxed)
        #expect {
            try backend(file, calls).edit { $0["count"] = 2 }
        } throws: { error in
            if case .folderNotGranted = error as? StorageError { false } else { error is StorageError }
        }
    }

    // MARK: Files that may be removed

    @Test("A store in Caches of a device tells that its file may be removed, and works as others do")
    func purgeable() async throws {
        let caches = folder.url.appendingPathComponent("Library/Caches")
        try FileManager.default.createDirectory(at: caches, withIntermediateDirectories: true)
        let file = caches.appendingPathComponent("settings.plist")
        for system in [SystemRules.System.tvOS, .iOS] {
            let rules = SystemRules(system, home: folder.url.path, isSandboxed: true)
            let store = try ObservableStore(backend: backend(file, calls(rules)))
            store[Keys.count] += 1
            #expect(store.durability == .purgeable)
            try await store.close()
        }
        #expect(try PropertyListFile(at: file).load().values == ["count": 2])
        let store = try ObservableStore(backend: backend(file, calls(macOS)))
        #expect(store.durability != .purgeable)
        try await store.close()
    }

    // MARK: Files of UserDefaults

    private func preferences() throws -> URL {
        let folder = folder.url.appendingPathComponent("Library/Preferences")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("com.example.plist")
        try FileManager.default.copyItem(at: self.file, to: file)
        return file
    }

    private let macOS = SystemRules(.macOS, home: "/Users/me", isSandboxed: false)

    @Test("A file of UserDefaults is refused with the backend for it, and can be read")
    func userDefaults() throws {
        let file = try preferences()
        let bytes = try Data(contentsOf: file)
        #expect {
            try ObservableStore(backend: backend(file, calls(macOS)))
        } throws: { error in
            "\(error)".contains(file.path) && "\(error)".contains("UserDefaultsBackend") && "\(error)".contains("access: .readOnly")
        }
        #expect(try backend(file, calls(macOS), access: .readOnly).load().values == ["count": 1])
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path) == ["com.example.plist"])
        #expect(try backend(file, calls(SystemRules(.linux, home: "", isSandboxed: false))).load().values == ["count": 1])
    }

    @Test("A link that leads to a file of UserDefaults is not written through")
    func linkToUserDefaults() throws {
        let (file, link) = (try preferences(), folder.file("link.plist"))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        let bytes = try Data(contentsOf: file)
        let backend = backend(link, calls(macOS))
        #expect {
            try backend.edit { $0["count"] = 2 }
        } throws: { "\($0)".contains("UserDefaultsBackend") }
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path) == ["com.example.plist"])
    }
}
