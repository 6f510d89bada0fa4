import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Names of one file", .timeLimit(.minutes(10)))
struct SharedPathTests {
    private let folder: TemporaryFolder
    private let (upper, lower): (ResolvedPath, ResolvedPath)

    init() throws {
        folder = try TemporaryFolder()
        upper = ResolvedPath("A.plist", in: folder.url.path)
        lower = ResolvedPath("a.plist", in: folder.url.path)
    }

    /// A volume that does not distinguish case: every name is looked up in lower case.
    private var calls: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            try FileSystemCalls.live.statusOfPath(path.sibling(path.name.lowercased()), followsLinks)
        }
        return calls
    }

    @Test("On a volume that does not distinguish case, names that differ in it are one file")
    func caseInsensitive() throws {
        try folder.make("a.plist", "")
        try folder.make("b.plist", "")
        let other = ResolvedPath("b.plist", in: folder.url.path)
        #expect(calls.path([other, upper], ofTheFileAt: lower) == upper)
        #expect(calls.path([other, lower], ofTheFileAt: upper) == lower)
        #expect(calls.path([other], ofTheFileAt: upper) == upper)
    }

    @Test("On other volumes they are not, and neither are hard links nor missing files")
    func different() throws {
        #expect(FileSystemCalls.live.path([upper], ofTheFileAt: lower) == lower)
        try folder.make("A.plist", "")
        #expect(FileSystemCalls.live.path([upper], ofTheFileAt: lower) == lower)
        try FileManager.default.linkItem(atPath: upper.path, toPath: lower.path)
        #expect(FileSystemCalls.live.path([upper], ofTheFileAt: lower) == lower)
    }

    @Test("A file that another process replaces between two looks is looked at again")
    func replaced() throws {
        try folder.make("a.plist", "")
        let looks = Lock(0)
        var calls = calls
        calls.statusOfPath = { [calls, folder] path, followsLinks throws(SystemError) in
            let status = try calls.statusOfPath(path, followsLinks)
            if looks.withLock({ looks in (looks, looks += 1).0 }) == 0 {
                let new = folder.path("new")
                _ = FileManager.default.createFile(atPath: new, contents: nil)
                _ = rename(new, folder.path("a.plist"))
            }
            return status
        }
        #expect(calls.path([upper], ofTheFileAt: lower) == upper)
    }
}
