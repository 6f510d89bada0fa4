import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A user owns the folder of a list, and exchanges it, a folder above it or the folder of logs for another one, while a process with more
/// rights uses the list: that process must not touch anything in the folder that takes its place.
@Suite("A folder that its owner exchanges while it is used", .timeLimit(.minutes(10))) struct ExchangedFolderTests {
    /// What is exchanged, and for what.
    enum Exchange: CaseIterable {
        case listFolder, folderAbove, logFolder
        /// A folder of this process's user that the owner has moved there.
        case logFolderItself
    }

    enum Action: CaseIterable {
        case edit, watchedEdit, journaledEdit, openWithLogs, quarantine
    }

    /// The list of another user, and a folder of this one with files of the same names.
    private final class Place: Sendable {
        let folder: TemporaryFolder
        let list: URL
        private let ownInodes: Set<UInt64>
        private let exchange: Exchange
        private let isExchanged = Lock(false)

        init(_ exchange: Exchange, for action: Action) throws {
            self.exchange = exchange
            folder = try TemporaryFolder.inMemory()
            list = folder.file("home/a/conf/settings.plist")
            try folder.makeFolder("home/a/conf")
            try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: list)
            if action == .quarantine { try Data("bad".utf8).write(to: list) }
            let path = ResolvedPath(splitting: list.path)
            let log = try EditLogFolder(list: path, calls: .live).makeLog(halfSize: 4_096)
            log.publish()
            #expect(log.append([LoggedEdit(key: "b", path: [], over: 0, value: 2, sequence: 1)], sequence: 1))
            let logName = try #require(try FileManager.default.contentsOfDirectory(atPath: path.editLogs.path).first)
            let leftover = path.temporaryFile(process: .max, random: 1).name
            try folder.make("home/a/conf/" + leftover)
            // The folder that is to stay as it is.
            try folder.makeFolder("own/conf/.settings.plist.edits")
            for name in ["settings.plist", leftover, ".settings.plist.edits/\(logName)", ".settings.plist.edits/secret"] {
                try folder.make("own/conf/" + name, "precious")
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path("own/conf/.settings.plist.edits"))
            var inodes: Set<UInt64> = []
            for name in ["", "own"] + (try FileManager.default.subpathsOfDirectory(atPath: folder.path("own")).map { "own/" + $0 }) {
                inodes.insert(try folder.status(name).identity.inode)
            }
            ownInodes = inodes
            withExtendedLifetime(log) {}
        }

        /// The names, statuses and contents of the files that must not be touched.
        func ownFiles() throws -> [String: String] {
            var files: [String: String] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path("own")) {
                let status = try folder.status("own/" + name)
                let content = status.kind == .file ? try folder.text("own/" + name) : ""
                files[name] = "\(status.permissions) \(status.owner) \(status.identity.inode) \(content)"
            }
            return files
        }

        private var paths: (place: String, other: String) {
            switch exchange {
            case .listFolder: ("home/a/conf", "own/conf")
            case .folderAbove: ("home/a", "own")
            case .logFolder, .logFolderItself: ("home/a/conf/.settings.plist.edits", "own/conf/.settings.plist.edits")
            }
        }

        func exchangeFolders() {
            let (place, other) = (folder.path(paths.place), folder.path(paths.other))
            let isMade = rename(place, place + ".away") == 0
            let isDone = exchange == .logFolderItself ? rename(other, place) == 0 : symlink(other, place) == 0
            // The process may have removed the empty folder of logs.
            #expect(isMade && isDone || errno == ENOENT)
            if isMade { isExchanged.withLock { $0 = true } } else if isDone { exchangeBack(isMade: false) }
        }

        func exchangeBack(isMade: Bool = true) {
            let wasExchanged = isExchanged.withLock { isExchanged in
                defer { isExchanged = false }
                return isExchanged
            }
            if isMade, !wasExchanged { return }
            let (place, other) = (folder.path(paths.place), folder.path(paths.other))
            #expect(exchange == .logFolderItself ? rename(place, other) == 0 : unlink(place) == 0)
            if isMade { #expect(rename(place + ".away", place) == 0) }
        }

        /// Calls that see everything but the folder that must not be touched as another user's.
        func calls(_ recorded: FileSystemCalls) -> FileSystemCalls {
            var calls = recorded.seeing { status in
                if !self.ownInodes.contains(status.identity.inode), status.owner == geteuid() { status.owner = 65_534 }
            }
            calls.setOwner = { descriptor, _, _ throws(SystemError) in
                let inode = try FileSystemCalls.live.statusOfDescriptor(descriptor).identity.inode
                #expect(!self.ownInodes.contains(inode), "a file that was found changes its owner")
            }
            calls.pause = { _ in }
            return calls
        }

        func perform(_ action: Action, _ calls: FileSystemCalls) throws {
            let file = PropertyListFile(
                at: list,
                configuration: .with {
                    $0.onCorruption = action == .quarantine ? .quarantine : .refuse
                    $0.lockTimeout = .seconds(500)
                    $0.journal = action == .journaledEdit ? .full() : .edits
                }, calls: calls)
            let watch = ListWatch()
            if action == .watchedEdit { file.list.begin(watch) }
            if action == .openWithLogs || action == .quarantine { _ = try file.load() }
            _ = try file.edit { $0["c"] = 3 }
            // The list that is watched, or whose journal is known, is not resolved again.
            if action == .watchedEdit || action == .journaledEdit { _ = try file.edit { $0["d"] = 4 } }
            if action == .journaledEdit { try file.checkpoint() }
            do throws(EditLogRefusal) {
                try file.makeLog(halfSize: 4_096).remove()
            } catch {
                // The list is another user's.
            }
        }

        func stored() throws -> [String: PropertyListValue]? {
            guard case .dictionary(let values) = try PropertyListValue.decode(Data(contentsOf: list)).value else { return nil }
            return values
        }
    }

    @Test(
        "Exchanged at any system call, the folder that takes its place stays as it is, and the edit is made or throws",
        .namingSeed, arguments: Exchange.allCases, Action.allCases)
    func oneCall(_ exchange: Exchange, _ action: Action) throws {
        let undisturbed = try Place(exchange, for: action)
        let recorder = CallRecorder()
        try undisturbed.perform(action, undisturbed.calls(recorder.calls))
        #expect(try undisturbed.stored()?["c"] == 3)
        for index in CallRecorder.visitedCalls(recorder.names) {
            let place = try Place(exchange, for: action)
            let before = try place.ownFiles()
            let recorder = CallRecorder { number, _ in
                if number == index { place.exchangeFolders() }
                if number == index + 1 { place.exchangeBack() }
                return nil
            }
            var isThrown = false
            do {
                try place.perform(action, place.calls(recorder.calls))
            } catch is StorageError {
                isThrown = true
            }
            place.exchangeBack()
            #expect(try place.ownFiles() == before, "exchanged at call \(index), \(recorder.names[index])")
            if !isThrown { #expect(try place.stored()?["c"] == 3, "exchanged at call \(index), \(recorder.names[index])") }
        }
    }

    @Test("Through a link of another user, only that user's files are written; those of others are read")
    func otherUsersLink() throws {
        let folder = try TemporaryFolder.inMemory()
        let bytes = try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary)
        for name in ["own", "theirs"] {
            try folder.makeFolder(name)
            try bytes.write(to: folder.file(name + "/list"))
        }
        let theirs = Set(try ["theirs", "theirs/list"].map { try folder.status($0).identity.inode })
        let live = FileSystemCalls.live
        var calls = live
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            var status = try live.statusOfDescriptor(descriptor)
            if theirs.contains(status.identity.inode) { status.owner = 65_534 }
            return status
        }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            var status = try live.statusOfPath(path, followsLinks)
            if theirs.contains(status.identity.inode) || status.kind == .link { status.owner = 65_534 }
            return status
        }
        calls.untimedStatus = { folder, name throws(SystemError) in
            var status = try live.untimedStatus(folder, name)
            if theirs.contains(status.identity.inode) || status.kind == .link { status.owner = 65_534 }
            return status
        }
        for (link, target) in [("link", "own/list"), ("folder", "own"), ("missing", "own/none"), ("fine", "theirs/list")] {
            let path = try folder.link(link, to: target) + (link == "folder" ? "/list" : "")
            let file = PropertyListFile(
                at: URL(fileURLWithPath: path),
                configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), .full()) }, calls: calls)
            #expect(try file.load().values == (link == "missing" ? [:] : ["a": 1]))
            let before = try folder.contents("own")
            if link == "fine" {
                _ = try file.edit { $0["b"] = 2 }
            } else {
                let error = #expect(throws: StorageError.self) { try file.edit { $0["b"] = 2 } }
                #expect("\(try #require(error))".contains("the symbolic link \(folder.path(link)) of user 65534 leads to it"))
                #expect(throws: EditLogRefusal.self) { try file.makeLog(halfSize: 4_096) }
            }
            #expect(try folder.contents("own") == before)
        }
    }
}

extension ExchangedFolderTests {
    @Test(
        "A list that is watched, or has a journal, is resolved again only after its folder was exchanged, and no folder is open after the watch",
        arguments: [false, true], [false, true])
    func keptFolder(isJournaled: Bool, isLinked: Bool) throws {
        let folder = try TemporaryFolder.inMemory()
        try folder.makeFolder("a/conf")
        let recorder = CallRecorder()
        let walks = Lock(0)
        var calls = recorder.calls
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if path.name == "conf" { walks.withLock { $0 += 1 } }
            return try recorder.calls.openDescriptor(path, flags, mode)
        }
        calls.pause = { _ in }
        let path = isLinked ? try folder.link("link", to: "a/conf/list") : folder.path("a/conf/list")
        let file = PropertyListFile(
            at: URL(fileURLWithPath: path),
            configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), isJournaled ? .full() : .edits) }, calls: calls)
        let watch = ListWatch()
        if !isJournaled { file.list.begin(watch) }
        try file.set(["a": 1])
        // Its file system is asked whether it supports a journal.
        #expect(walks.withLock { $0 } == (isJournaled ? 2 : 1))
        for number in [2, 3] as [PropertyListValue] { try file.set(["a": number]) }
        #expect(walks.withLock { $0 } == (isJournaled ? 2 : 1))
        try FileManager.default.moveItem(atPath: folder.path("a/conf"), toPath: folder.path("a/former"))
        try folder.makeFolder("a/conf")
        try file.set(["a": 4])
        if isJournaled { return #expect(try PropertyListFile(at: folder.file("a/conf/list")).load()["a"] == 4) }
        #expect(walks.withLock { $0 } == 2)
        #expect(try ["former", "conf"].map { try PropertyListFile(at: folder.file("a/\($0)/list")).load()["a"] } == [3, 4])
        file.list.end(watch)
        #expect(recorder.openDescriptors.isEmpty)
        try file.set(["a": 5])
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A watched list whose folder is renamed, and the link that leads there with it, is found at its new path")
    func renamedBehindLink() throws {
        let folder = try TemporaryFolder.inMemory()
        try folder.makeFolder("old")
        let link = try folder.link("link", to: "old")
        let file = PropertyListFile(at: URL(fileURLWithPath: link + "/list"))
        let watch = ListWatch()
        file.list.begin(watch)
        try file.set(["a": 1])
        #expect(try file.list.target().path == folder.path("old/list"))
        try FileManager.default.moveItem(atPath: folder.path("old"), toPath: folder.path("new"))
        try FileManager.default.removeItem(atPath: link)
        _ = try folder.link("link", to: "new")
        #expect(try file.list.target().path == folder.path("new/list"))
        file.list.end(watch)
    }

    @Test("Through links of several other users, the files of none of them are written")
    func linksOfSeveralUsers() throws {
        let folder = try TemporaryFolder.inMemory()
        try folder.makeFolder("theirs")
        try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: folder.file("theirs/list"))
        try folder.link("two", to: "theirs")
        try folder.link("one", to: "two")
        let names: [(String, uid_t)] = [("theirs", 65_534), ("theirs/list", 65_534), ("two", 65_534), ("one", 65_533)]
        let owners = Dictionary(uniqueKeysWithValues: try names.map { (try folder.status($0.0).identity.inode, $0.1) })
        var calls = FileSystemCalls.live.seeing { $0.owner = owners[$0.identity.inode] ?? $0.owner }
        calls.setOwner = { _, _, _ in }
        let error = #expect(throws: StorageError.self) {
            try PropertyListFile(at: folder.file("one/list"), configuration: .init(), calls: calls).set(["a": 2])
        }
        #expect("\(try #require(error))".contains("of another user, among others, leads to it"))
        #expect(try PropertyListFile(at: folder.file("two/list"), configuration: .init(), calls: calls).set(["a": 3])["a"] == 3)
    }

    @Test("Another user's link that was followed for one commit does not count for the next one if it is this user's own then")
    func formerLink() throws {
        let folder = try TemporaryFolder.inMemory()
        try folder.makeFolder("theirs")
        try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: folder.file("theirs/list"))
        let theirs = Lock(Set(try ["theirs", "theirs/list"].map { try folder.status($0).identity.inode }))
        let isTheirs = Lock(true)
        var calls = FileSystemCalls.live.seeing { status in
            let inode = status.identity.inode
            let isOthers = status.kind == .link ? isTheirs.withLock { $0 } : theirs.withLock { $0.contains(inode) }
            if isOthers { status.owner = 65_534 }
        }
        calls.setOwner = { _, _, _ in }
        let path = try folder.link("link", to: "theirs") + "/list"
        let file = PropertyListFile(
            at: URL(fileURLWithPath: path), configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), .full()) }, calls: calls)
        try file.set(["b": 2])
        let list = try folder.status("theirs/list").identity.inode
        theirs.withLock { _ = $0.remove(list) }
        let error = #expect(throws: StorageError.self) { try file.set(["b": 3]) }
        #expect("\(try #require(error))".contains("the symbolic link \(folder.path("link")) of user 65534 leads to it"))
        isTheirs.withLock { $0 = false }
        #expect(try file.set(["b": 4]).values == ["a": 1, "b": 4])
    }
}

extension TemporaryFolder {
    /// The sorted names in a folder inside.
    fileprivate func contents(_ name: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name)).sorted()
    }
}
