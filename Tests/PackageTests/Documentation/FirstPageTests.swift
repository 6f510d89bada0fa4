import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

/// The snippets on the first pages of the modules.
@Suite("First pages", .timeLimit(.minutes(10)))
struct FirstPageTests {
    private let folder: TemporaryFolder
    private let url: URL

    init() throws {
        folder = try TemporaryFolder()
        url = folder.file("settings.plist")
    }

    @Test("A key of a group is a property")
    func keys() async throws {
        // snippet: ObservableStorage
        struct AppKeys: KeyGroup {
            let launchCount = StorageKey("launchCount", default: 0)
        }

        let settings = KeyedStore<AppKeys>(.standard)
        settings.launchCount += 1
        // end
        #expect(settings.store.snapshot.entries["launchCount"] == 1)
    }

    @Test("A list is changed and written in its format", arguments: PropertyListFormat.allCases)
    func list(format: PropertyListFormat) throws {
        try PropertyListValue.dictionary(["server": ["port": 80]]).encoded(as: format).write(to: url)
        // snippet: PropertyListCoding
        let (value, format) = try PropertyListValue.decode(Data(contentsOf: url))
        var edited = value
        edited["launchCount"] = 1
        edited[path: "server", "port"] = 8080
        try edited.encoded(as: format).write(to: url)
        // end
        let written = try PropertyListValue.decode(Data(contentsOf: url))
        #expect(written.value == ["server": ["port": 8080], "launchCount": 1])
        #expect(written.format == format)
    }

    @Test("User defaults are the storage of a store")
    func userDefaults() throws {
        // snippet: UserDefaultsStorage
        let store = try ObservableStore(backend: UserDefaultsBackend())
        // end
        #expect(try store.snapshot.entries == UserDefaultsBackend().load().values)
    }
}
