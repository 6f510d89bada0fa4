import Foundation
import Observation
import ObservableStorage
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

private struct AppKeys: KeyGroup {
    let proxy = StorageKey("proxy", default: "none")
    let size = StorageKey("size", default: 10)
    let port = StorageKey("server", "port", default: 80)
    let host = StorageKey("server", "host", default: "localhost")
}

private enum Size: Int { case small = 1, large = 7 }

private let proxy = StorageKey("proxy", default: "none")

/// A user's file with an administrator's defaults and mandatory values.
private struct Files {
    let folder: TemporaryFolder
    var user: URL { folder.file("user.plist") }
    var defaults: URL { folder.file("defaults.plist") }
    var mandatory: URL { folder.file("mandatory.plist") }

    init() throws {
        folder = try TemporaryFolder()
    }

    func write(_ entries: PropertyListValue?, to url: URL) throws {
        guard let entries else { return try FileManager.default.removeItem(at: url) }
        try entries.encoded(as: .xml).write(to: url, options: .atomic)
    }

    func open() throws -> ObservableStore {
        try ObservableStore(at: user, defaults: [defaults], mandatory: [mandatory])
    }
}

@Suite("Layers of files", .timeLimit(.minutes(10)))
struct LayerTests {
    @Test("Mandatory values precede stored ones, then registered ones, defaults, and the key's own")
    func precedence() async throws {
        let files = try Files()
        try files.write(["proxy": "mandatory", "server": ["port": 1]], to: files.mandatory)
        try files.write(["proxy": "default", "size": 5, "server": ["port": 2, "host": "default"]], to: files.defaults)
        try files.write(["proxy": "user"], to: files.user)
        let store = try files.open()
        let settings = KeyedStore<AppKeys>(store)
        #expect((settings.proxy, settings.size, settings.port, settings.host) == ("mandatory", 5, 1, "default"))
        let snapshot = settings.snapshot
        #expect((snapshot.proxy, snapshot.size, snapshot.port, snapshot.host) == ("mandatory", 5, 1, "default"))
        #expect(settings.stored(\.proxy).source == .mandatory(file: files.mandatory.path))
        #expect(settings.stored(\.size).source == .defaults(file: files.defaults.path))
        #expect(settings.stored(\.port).source == .mandatory(file: files.mandatory.path))
        #expect(settings.stored(\.proxy).isMandatory && settings.stored(\.port).isMandatory && !settings.stored(\.host).isMandatory)
        try store.register(7, for: StorageKey("size", default: 0))
        #expect((settings.size, settings.stored(\.size).source) == (7, .registered))
        settings.size = 8
        #expect((settings.size, settings.stored(\.size).source) == (8, .stored))
        #expect(store.stored(StorageKey("other", default: 0)).source == .keyDefault)
        settings.host = "user"
        try await store.flush()
        let stored = try PropertyListValue.decode(Data(contentsOf: files.user)).value
        #expect(stored == ["proxy": "user", "size": 8, "server": ["host": "user"]])
        #expect(settings.port == 1)
    }

    @Test("Of several files of a layer, the first one that has a value counts")
    func severalFiles() throws {
        let files = try Files()
        let urls = ["first", "second"].map { files.folder.file($0 + ".plist") }
        try files.write(["proxy": "first"], to: urls[0])
        try files.write(["proxy": "second", "size": 2], to: urls[1])
        for isMandatory in [false, true] {
            let store = try ObservableStore(at: files.user, defaults: isMandatory ? [] : urls, mandatory: isMandatory ? urls : [])
            #expect((store[proxy], store[StorageKey("size", default: 10)]) == ("first", 2))
            #expect(store.stored(proxy).source == (isMandatory ? .mandatory(file: urls[0].path) : .defaults(file: urls[0].path)))
        }
    }

    @Test("A changed default of a key that has a value is not told")
    func hiddenDefault() async throws {
        let files = try Files()
        try files.write(["proxy": "one"], to: files.defaults)
        try files.write(["proxy": "user"], to: files.user)
        let store = try files.open()
        var changes = store.changes(of: proxy).makeAsyncIterator()
        try files.write(["proxy": "two"], to: files.defaults)
        try await store.reload()
        store[proxy] = "end"
        #expect(await changes.next()?.newValue == "end")
    }

    @Test("The configuration is that of the store's own file")
    func configuration() throws {
        let files = try Files()
        try files.write(["proxy": "mandatory"], to: files.mandatory)
        try files.write(["size": 5], to: files.user)
        var configuration = PropertyListFile.Configuration()
        configuration.access = .readOnly
        let store = try ObservableStore(
            at: files.user, defaults: [files.defaults], mandatory: [files.mandatory], configuration: configuration)
        let settings = KeyedStore<AppKeys>(store)
        #expect((settings.proxy, settings.size) == ("mandatory", 5))
        #expect(throws: StorageError.readOnly(file: files.user.path)) { try settings.stored(\.size).set(8) }
    }

    @Test("A key with a mandatory value cannot be set, by any way, and what is stored is kept")
    func refused() async throws {
        let files = try Files()
        try files.write(["proxy": "mandatory", "server": ["port": 1]], to: files.mandatory)
        try files.write(["proxy": "user", "server": ["port": 2]], to: files.user)
        let store = try files.open()
        let settings = KeyedStore<AppKeys>(store)
        let refused = StorageError.mandatory(key: "proxy")
        #expect(throws: refused) { try settings.stored(\.proxy).set("x") }
        #expect(throws: StorageError.mandatory(key: ".server.port")) { try settings.stored(\.port).set(3) }
        #expect(throws: refused) { try store.stored(proxy).modify { $0 = "x" } }
        await #expect(throws: refused) { try await settings.update { $0.proxy = "x" } }
        settings.proxy = "x"
        settings.edit { $0.proxy = "x" }
        var failures = store.failures.makeAsyncIterator()
        #expect(await failures.next() == refused)
        #expect(await failures.next() == refused)
        // A key inside the same dictionary can be set, and removing is allowed: it removes what the user has set.
        settings.host = "h"
        settings.stored(\.proxy).remove()
        #expect(settings.proxy == "mandatory")
        try await store.flush()
        let stored = try PropertyListValue.decode(Data(contentsOf: files.user)).value
        #expect(stored == ["server": ["port": 2, "host": "h"]])
        #expect("\(refused)" == "key \"proxy\": prescribed by the administrator, so it cannot be set; nothing was changed")
    }

    @Test("Changes of every layer are observed, and those that a mandatory value hides are not")
    func observed() async throws {
        let files = try Files()
        try files.write(["proxy": "user"], to: files.user)
        let store = try files.open()
        var changes = store.changes(of: proxy).makeAsyncIterator()
        var both = store.values(of: proxy, StorageKey("size", default: 10)).makeAsyncIterator()
        #expect(try #require(await both.next()) == ("user", 10))
        let tracked = Recorder<Bool>()
        withObservationTracking {
            #expect(!store.stored(proxy).isMandatory)
        } onChange: {
            tracked.record(true)
        }
        try files.write(["proxy": "mandatory"], to: files.mandatory)
        var change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.origin) == ("user", "mandatory", .external))
        #expect(try #require(await both.next()) == ("mandatory", 10))
        #expect(store.stored(proxy).isMandatory && store[proxy] == "mandatory")
        #expect(try await tracked.elements { !$0.isEmpty } == [true])
        // Hidden.
        try files.write(["proxy": "other", "seen": 1], to: files.user)
        for await seen in store.values(of: StorageKey("seen", default: 0)) where seen == 1 { break }
        try files.write(["size": 4], to: files.defaults)
        #expect(try #require(await both.next()) == ("mandatory", 4))
        try files.write(nil, to: files.mandatory)
        change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue) == ("mandatory", "other"))
        #expect(!store.stored(proxy).isMandatory)
        store[proxy] = "set again"
        #expect(store[proxy] == "set again")
    }

    @Test("A change of several names of a key in a layer is told once", arguments: [true, false])
    func severalNames(isMandatory: Bool) async throws {
        let files = try Files()
        let store = try files.open()
        let changes = [
            store.changes(of: proxy.renamed(from: "oldProxy")), store.changes(of: proxy.renamed(from: "oldProxy", keepingOld: true)),
            SceneStore(sceneID: "one", base: store).stored(proxy).changes,
        ]
        for value in ["one", "two"] as [PropertyListValue] {
            let entries: PropertyListValue = ["proxy": value, "oldProxy": value, "scenes/one/proxy": value]
            try files.write(entries, to: isMandatory ? files.mandatory : files.defaults)
            try await store.reload()
        }
        try await store.close()
        for told in changes { #expect(await told.reduce(into: []) { $0.append($1.newValue) } == ["one", "two"]) }
    }

    @Test("A layer's value under an earlier name of a key counts while it has none under the present name", arguments: [true, false])
    func earlierName(isMandatory: Bool) async throws {
        let files = try Files()
        let (layer, renamed) = (isMandatory ? files.mandatory : files.defaults, proxy.renamed(from: "oldProxy"))
        try files.write(["oldProxy": "one"], to: layer)
        let store = try files.open()
        let (stored, scene) = (store.stored(renamed), SceneStore(sceneID: "main", base: store))
        func source() -> ValueSource { isMandatory ? .mandatory(file: layer.path) : .defaults(file: layer.path) }
        #expect((stored.value, stored.source, store.snapshot[renamed], scene[renamed]) == ("one", source(), "one", "one"))
        #expect(store[proxy] == "none" && stored.isMandatory == isMandatory)
        if isMandatory {
            #expect(throws: StorageError.mandatory(key: "proxy")) { try stored.set("mine") }
            await #expect(throws: StorageError.mandatory(key: "proxy")) { try await store.update { $0[renamed] = "mine" } }
        }
        let (changes, tracked) = (stored.changes, Recorder<String>())
        withObservationTracking {
            #expect(stored.isMandatory == isMandatory && stored.value == "one")
        } onChange: {
            tracked.record("tracked")
        }
        for entries in [["oldProxy": "two"], ["oldProxy": "hidden", "proxy": "three"], ["oldProxy": "four"]] as [PropertyListValue] {
            try files.write(entries, to: layer)
            try await store.reload()
        }
        #expect(stored.value == "four" && stored.source == source() && tracked.elements == ["tracked"])
        try await store.close()
        #expect(await changes.reduce(into: []) { $0.append($1.newValue) } == ["two", "three", "four"])
    }

    @Test("An invalid value of a layer under an earlier name leaves the previous one in effect, for keys with that name only")
    func earlierNameInvalid() async throws {
        let files = try Files()
        let size = StorageKey("size", codec: .rawValue, default: Size.small)
        let renamed = size.renamed(from: "oldSize")
        try files.write(["oldSize": 7], to: files.mandatory)
        try files.write(["size": 1], to: files.user)
        let store = try files.open()
        #expect((store[renamed], store[size]) == (.large, .small))
        try files.write(["oldSize": "no size"], to: files.mandatory)
        try await store.reload()
        #expect((store[renamed], store[size]) == (.large, .small))
        #expect(await store.failures.first { _ in true } != nil)
    }

    @Test("A value inside a dictionary that is removed is told as the default beside a registered dictionary without it")
    func registeredWithoutValue() async throws {
        let files = try Files()
        try files.write(["server": ["port": 2]], to: files.defaults)
        try files.write(["server": ["port": 9]], to: files.user)
        let store = try files.open()
        try store.register(["host": "registered"], for: StorageKey<[String: String]>("server", default: [:]))
        let port = StorageKey("server", "port", default: 80)
        let told = Recorder<Int>()
        let token = store.addUpdateListener(for: port) { told.record($0.newValue) }
        store.remove(port)
        #expect(store[port] == 2)
        #expect(told.elements == [2])
        withExtendedLifetime(token) {}
    }

    @Test("A layer that cannot be read is an error at opening, and later keeps its last values")
    func unreadable() async throws {
        let files = try Files()
        try Data("no property list".utf8).write(to: files.mandatory)
        #expect(throws: StorageError.self) { try files.open() }
        try files.write(["proxy": "mandatory"], to: files.mandatory)
        let store = try files.open()
        try Data("no property list".utf8).write(to: files.mandatory)
        var failures = store.failures.makeAsyncIterator()
        let failure = try #require(await failures.next())
        #expect("\(failure)".hasPrefix(files.mandatory.path))
        #expect(store[proxy] == "mandatory")
        try files.write(["proxy": "newer"], to: files.mandatory)
        for await value in store.values(of: proxy) where value == "newer" { break }
    }

    @Test("Reading stores the default of a key only while no layer has a value for it", arguments: [true, false])
    func persistedDefault(isMandatory: Bool) async throws {
        let files = try Files()
        let layer = isMandatory ? files.mandatory : files.defaults
        try files.write(["size": 5], to: layer)
        let store = try files.open()
        let size = StorageKey("size", persistsDefault: .always, default: 10)
        #expect(store[size] == 5)
        #expect(try await store.update { $0[size] } == 5)
        #expect(store.entries.isEmpty)
        try files.write(nil, to: layer)
        try await store.reload()
        #expect(store[size] == 10)
        #expect(store.entries == ["size": 10])
    }

    @Test("A key that persists its default decodes the value of a layer once")
    func persistedDefaultDecodedOnce() throws {
        let files = try Files()
        try files.write(["size": "5"], to: files.defaults)
        let store = try files.open()
        let decoded = Recorder<String>()
        let size = StorageKey<Int>(
            "size",
            codec: .custom(
                encode: { .string("\($0)") },
                decode: { stored in
                    let text = try String(propertyListValue: stored)
                    decoded.record(text)
                    return try #require(Int(text))
                }), persistsDefault: .whenMissing, default: 10)
        for _ in 1...3 { #expect(store[size] == 5) }
        #expect(decoded.elements == ["5"])
    }

    @Test("A scene has the mandatory value, and inherits defaults")
    func scene() throws {
        let files = try Files()
        try files.write(["proxy": "mandatory"], to: files.mandatory)
        try files.write(["size": 3], to: files.defaults)
        let store = try files.open()
        let scene = SceneStore(sceneID: "one", base: store)
        #expect((scene[proxy], scene[StorageKey("size", default: 10)]) == ("mandatory", 3))
        #expect(throws: StorageError.self) { try scene.stored(proxy).set("x") }
    }
}
