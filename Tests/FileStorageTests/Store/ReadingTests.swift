import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Reading a file once", .timeLimit(.minutes(10)))
struct ReadingTests {
    private struct AppKeys: KeyGroup {
        let port = StorageKey("port", default: 80).validated(in: 1...65_535)
        let host = StorageKey("host", default: "localhost")
        let window = WindowKeys()
    }

    private struct WindowKeys: KeyGroup {
        let prefix: String? = "window"
        let minimum = StorageKey("minimum", default: 0)
        let maximum = StorageKey("maximum", default: 10)

        struct Reversed: Error {}

        func validate(_ snapshot: KeyedSnapshot<WindowKeys>) throws {
            if snapshot.minimum > snapshot.maximum { throw Reversed() }
        }
    }

    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ entries: [String: PropertyListValue], to name: String = "settings.plist") throws {
        try PropertyListValue.dictionary(entries).encoded(as: .xml).write(to: folder.file(name))
    }

    @Test("The values are typed, and nothing is made beside the file, not even in a folder that cannot be written")
    func values() throws {
        try write(["port": 8080, "window/minimum": 3])
        chmod(folder.url.path, 0o500)
        defer { chmod(folder.url.path, 0o700) }
        let settings = try ObservableStore.read(at: file).checked(as: AppKeys.self)
        #expect((settings.port, settings.host, settings.window.minimum) == (8080, "localhost", 3))
        #expect(settings.isSet(\.port))
        #expect(!settings.isSet(\.host))
        #expect(try folder.names() == ["settings.plist"])
    }

    @Test("Layers are read, too")
    func layers() throws {
        try write(["port": 8080, "host": "stored"])
        try write(["port": 443], to: "mandatory.plist")
        try write(["host": "default", "window/maximum": 20], to: "defaults.plist")
        let snapshot = try ObservableStore.read(
            at: file, defaults: [folder.file("defaults.plist")], mandatory: [folder.file("mandatory.plist"), folder.file("missing.plist")])
        let settings = try snapshot.checked(as: AppKeys.self)
        #expect((settings.port, settings.host, settings.window.maximum) == (443, "stored", 20))
        #expect(try folder.names() == ["defaults.plist", "mandatory.plist", "settings.plist"])
    }

    @Test("A missing file has no entries, and a malformed one is an error")
    func missing() throws {
        #expect(try ObservableStore.read(at: folder.file("missing/settings.plist")).entries == [:])
        try folder.make("settings.plist", "no list")
        let error = #expect(throws: StorageError.self) { try ObservableStore.read(at: file) }
        #expect("\(try #require(error))".hasPrefix(file.path))
    }

    @Test("Every value, rule and name that is not valid is thrown at once, and none is replaced by a default")
    func invalid() throws {
        try write(["port": 0, "Host": "a", "window/minimum": 11])
        let errors: [StorageError] = [
            .undecodable(key: "port", expected: "Int", found: "integer, which was refused: 0 is not in 1...65535"),
            .invalidGroup(group: "WindowKeys", reason: "Reversed()"), .unknownName(key: "Host", group: "AppKeys", nearest: "host"),
        ]
        #expect(throws: StorageError.several(errors)) { try ObservableStore.read(at: file).checked(as: AppKeys.self) }
        let unknown = try ObservableStore.read(at: file)
        try write(["Host": "a"])
        #expect(try ObservableStore.read(at: file).checked(as: AppKeys.self) { $0 == "Host" }.host == "localhost")
        #expect(throws: errors[0]) { try unknown.value(for: AppKeys().port) }
    }

    @Test("A snapshot does not change with the file, and other groups and prefixes can be read from it")
    func prefixes() throws {
        try write(["one/port": 1, "two/port": 2])
        let snapshot = try ObservableStore.read(at: file)
        try write(["one/port": 3])
        #expect(try snapshot.checked(as: AppKeys.self, prefix: "one").port == 1)
        #expect(try snapshot.checked(as: AppKeys.self, prefix: "two").port == 2)
    }
}
