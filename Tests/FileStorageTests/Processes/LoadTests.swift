import Foundation
import ObservableStorage
import TestSupport
import Testing

/// Each load runs in a separate process. `OBSERVABLE_STORAGE_LONG_TESTS` makes it a heavy one and prints the results.
@Suite("Load", .serialized, .timeLimit(.minutes(isLong ? 60 : 10)))
struct LoadTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("One key written repeatedly uses no more memory, and no more edits of the file than writes")
    func writes() async throws {
        let count = isLong ? 1_000_000 : 20_000
        let figures = try await load("writes", count)
        #expect(figures["heard"] == 1_000 + count)
        #expect(figures["last"] == 1_000 + count)
        #expect(try figures.figure("edits") <= 1_000 + count)
        #expect(try figures.figure("growth") < 400_000)
    }

    @Test("Many keys use memory proportional to their number, and are read again")
    func keys() async throws {
        let count = isLong ? 100_000 : 5_000
        let figures = try await load("keys", count)
        #expect(figures["read"] == count + 1)
        #expect(try figures.figure("growth") < 1_000 * count + 1_000_000)
        #expect(try figures.figure("file") < 40 * count)
    }

    @Test("A large value uses a few times its size, and is read again")
    func largeValue() async throws {
        let count = isLong ? 50_000_000 : 10_000_000
        let figures = try await load("value", count)
        #expect(figures["read"] == count)
        #expect(try figures.figure("file") < count + 1_000)
        #expect(try figures.figure("held") < 4 * count + 5_000_000)
        #expect(try figures.figure("peak") < 8 * count + 100_000_000)
    }

    @Test("Threads that have encoded a large list keep nothing of its size")
    func encodings() async throws {
        let figures = try await load("encodings", 30_000_000)
        #expect(try figures.figure("file") > 30_000_000)
        #expect(try figures.figure("growth") < 60_000_000)
    }

    @Test("A large list that was edited and released leaves nothing of its size")
    func list() async throws {
        let figures = try await load("list", 12_000_000)
        #expect(try figures.figure("file") > 12_000_000)
        #expect(try figures.figure("left") < 18_000_000)
    }

    @Test("Many subscribers use memory proportional to their number, and release all of it")
    func subscribers() async throws {
        let count = isLong ? 10_000 : 1_000
        let figures = try await load("subscribers", count)
        #expect(figures["heard"] == 10 * count)
        #expect(try figures.figure("held") < 3_000 * count + 1_000_000)
        #expect(try figures.figure("heldAfterTelling") < 3_000 * count + 1_000_000)
        #expect(try figures.figure("left") < 100_000)
    }

    @Test("Streams and listeners that are added and removed leave nothing in memory")
    func streams() async throws {
        // On a busy machine up to 140 KB are added once, whatever the number: what the first thread of a pool needs, for example.
        let figures = try await load("streams", isLong ? 100_000 : 6_000)
        #expect(try figures.figure("growth") < (isLong ? 400_000 : 250_000))
    }

    @Test("Many processes add to one number, and no increment is lost")
    func processes() async throws {
        let (processes, each) = isLong ? (64, 20) : (12, 5)
        let file = folder.path("many.plist")
        let start = ContinuousClock.now
        let peers = try (0..<processes).map { _ in try RunningProgram("Peer", ["load", "transactions", "\(each)", file]) }
        for peer in peers {
            #expect(try await peer.status == 0)
            #expect(peer.errors.elements == [])
        }
        #expect(try ObservableStore(at: URL(fileURLWithPath: file))[StorageKey("number", default: 0)] == processes * each)
        if isLong { print("load processes \(processes), transactions \(processes * each), \(ContinuousClock.now - start)") }
    }

    private func load(_ what: String, _ count: Int) async throws -> [String: Int] {
        let run = try await Subprocess.finished("Peer", ["load", what, "\(count)", folder.path("settings.plist")])
        #expect(run.status == 0, "\(run.errors)")
        let pairs = run.text.split(separator: "\n").map { $0.split(separator: "=") }
        let figures = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? 0) })
        if isLong {
            print("load \(what) \(count): \(figures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
        }
        return figures
    }
}

extension [String: Int] {
    fileprivate func figure(_ name: String) throws -> Int {
        try #require(self[name])
    }
}
