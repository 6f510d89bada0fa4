import Foundation
import TestSupport
import Testing

@Suite("Watching what other programs write", .timeLimit(.minutes(10)))
struct WatchedRewriteTests {
    private let folder: TemporaryFolder

    init() throws {
        // A disk could hold up a writer for longer than a file may be missing.
        folder = try TemporaryFolder.inMemory()
    }

    private func makeFile(_ name: String) throws -> URL {
        try FileManager.default.createDirectory(
            at: folder.file(name).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Writer.initialList().write(to: folder.file(name))
        return folder.file(name)
    }

    @Test("Every value is observed, ten times, complete and once", arguments: Writer.installed)
    func plain(_ writer: Writer) async throws {
        let file = try makeFile("settings.plist")
        try await rewrite(file, by: writer, watchedAt: file)
    }

    @Test("The same through a symbolic link", arguments: Writer.installed)
    func link(_ writer: Writer) async throws {
        let file = try makeFile("real/settings.plist")
        let link = folder.file("link.plist")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "real/settings.plist")
        try await rewrite(file, by: writer, watchedAt: link)
    }

    private func rewrite(_ file: URL, by writer: Writer, watchedAt watchedFile: URL) async throws {
        let watched = try await WatchedCount(watchedFile.path)
        for count in 1...10 {
            try await writer.write(count, to: file)
            try await watched.expect(count)
        }
        #expect(try await tool("increment", watchedFile.path, "count").text == "11\n")
        try await watched.expect(11)
        try await watched.end(isWrittenInPlace: writer == .pythonInPlace)
    }

    @Test("Every value is observed when a link to the folder is swapped, as in Kubernetes")
    func swap() async throws {
        let watchedFile = folder.file("settings.plist")
        for (link, target) in [("..data", "..0"), ("settings.plist", "..data/settings.plist")] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(link), withDestinationPath: target)
        }
        _ = try makeFile("..0/settings.plist")
        let watched = try await WatchedCount(watchedFile.path)
        for count in 1...10 {
            let file = try makeFile("..\(count)/settings.plist")
            try await Writer.editor.write(count, to: file)
            try FileManager.default.createSymbolicLink(atPath: folder.path("..data_tmp"), withDestinationPath: "..\(count)")
            #expect(rename(folder.path("..data_tmp"), folder.path("..data")) == 0)
            try FileManager.default.removeItem(atPath: folder.path("..\(count - 1)"))
            try await watched.expect(count)
        }
        try await Writer.editor.write(11, to: folder.file("..10/settings.plist"))
        try await watched.expect(11)
        try await watched.end()
    }

    @Test("Watching continues after the folder was deleted and created again")
    func deletedFolder() async throws {
        let file = try makeFile("a/b/settings.plist")
        let watched = try await WatchedCount(file.path)
        for round in 0..<3 {
            try FileManager.default.removeItem(atPath: folder.path("a"))
            try await watched.expectAll("removed", count: 0)
            _ = try makeFile("a/b/settings.plist")
            try await watched.expectAll("set", count: 0)
            try await Writer.editor.write(round + 1, to: file)
            try await watched.expect(round + 1)
        }
        try await watched.end()
    }

    #if os(Linux)
        @Test("A domain is the file that UserDefaults(suiteName:) uses", arguments: [false, true])
        func domain(_ isRelative: Bool) async throws {
            let environment = ["HOME": folder.url.path, "XDG_CONFIG_HOME": isRelative ? "relative" : folder.path("config")]
            let domain = "org.example.\(UUID().uuidString)"
            #expect(try await Subprocess.finished("Peer", ["user-defaults", domain, "count", "5"], environment: environment).status == 0)
            #expect(try await tool("read", domain, "count", environment: environment).text == "5\n")
            let expected = isRelative ? ".config/\(domain).plist" : "config/\(domain).plist"
            #expect(FileManager.default.fileExists(atPath: folder.path(expected)))
        }
    #endif
}
