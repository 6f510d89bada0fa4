import Foundation
import ObservableStorage
public import PropertyListCoding

/// The kinds of backend with which a store must behave equally.
public enum Fixture: String, Sendable, CaseIterable {
    /// Entries in memory.
    case memory
    /// A binary property-list file.
    case file
    /// An XML property-list file.
    case xml
    /// A JSON file.
    case json
    /// A binary property-list file with a journal.
    case journal
    /// A domain of Foundation's user defaults.
    case userDefaults
    /// A backend that uses only the public protocol.
    case thirdParty

    /// Those in which an edit does not wait for another one, but runs again if another one was faster.
    public static let optimistic: [Fixture] = [.memory, .userDefaults, .file, .xml, .json, .journal]

    /// Those that store values of every type.
    public static let ofEveryType = allCases.filter { $0 != .json }

    /// Those with fast edits: Foundation writes every domain of the process with each edit of one.
    public static let quick: [Fixture] = [.memory, .file]

    /// Storage of this kind with the given entries.
    public func make(_ entries: [String: PropertyListValue] = [:]) throws -> StorageFixture {
        let storage = try makeEmpty()
        _ = try storage.edit { stored in
            for (key, value) in entries { stored[key] = value }
        }
        return storage
    }

    private func makeEmpty() throws -> StorageFixture {
        switch self {
        case .memory:
            let backend = InMemoryBackend()
            return StorageFixture { backend }
        case .file:
            let folder = try TemporaryFolder()
            return StorageFixture { folder.propertyList() }
        case .xml:
            let folder = try TemporaryFolder()
            try PropertyListValue.dictionary([:]).encoded(as: .xml).write(to: folder.file("settings.plist"))
            return StorageFixture { folder.propertyList() }
        case .json:
            let folder = try TemporaryFolder()
            return StorageFixture { folder.propertyList("settings.json") }
        case .journal:
            let folder = try TemporaryFolder()
            return StorageFixture { folder.propertyList(journal: .full()) }
        case .userDefaults:
            let domain = TemporaryDomain()
            return StorageFixture { KeepingBackend(try domain.makeBackend(), domain) }
        case .thirdParty:
            let folder = try TemporaryFolder()
            let backend = JSONFileBackend(at: folder.file("settings.json"))
            return StorageFixture { KeepingBackend(backend, folder) }
        }
    }
}

extension TemporaryFolder {
    /// A property list in the folder, which it retains for as long as a store uses it.
    fileprivate func propertyList(_ name: String = "settings.plist", journal: JournalMode = .edits) -> PropertyListFile {
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            try withExtendedLifetime(self) { () throws(SystemError) in try FileSystemCalls.live.lock(descriptor) }
        }
        return PropertyListFile(
            at: file(name), configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), journal) }, calls: calls)
    }
}
