import Foundation
import Testing

@testable import ObservableStorage

/// What a watcher decides without a disk or a clock.
@Suite("FileWatcher: decisions", .timeLimit(.minutes(5)))
struct FileWatcherValueTests {
    let start = ContinuousClock.now

    func at(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test("One write is looked at after the quiet time") func oneWrite() {
        var settling = FileWatcherSettling(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(settling.wrote(at: at(0)) == .wake(at: at(50)))
        #expect(settling.woke(at: at(50)) == .look)
        #expect(settling.woke(at: at(60)) == .nothing)
    }

    @Test("Each write puts the look off, with one timer") func severalWrites() {
        var settling = FileWatcherSettling(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(settling.wrote(at: at(0)) == .wake(at: at(50)))
        #expect(settling.wrote(at: at(20)) == .nothing)
        #expect(settling.wrote(at: at(40)) == .nothing)
        #expect(settling.woke(at: at(50)) == .wake(at: at(90)))
        #expect(settling.woke(at: at(90)) == .look)
    }

    @Test("A writer that is never quiet is looked at when the limit is reached, again and again") func limit() {
        var settling = FileWatcherSettling(quiet: .milliseconds(50), limit: .milliseconds(500))
        var wake: ContinuousClock.Instant?
        var looks: [Int] = []
        for time in 0...1200 {
            if let due = wake, at(time) >= due {
                wake = nil
                switch settling.woke(at: at(time)) {
                case .wake(let next): wake = next
                case .look: looks.append(time)
                case .nothing: Issue.record("a timer for nothing")
                }
            }
            if case .wake(let due) = settling.wrote(at: at(time)) {
                #expect(wake == nil)
                wake = due
            }
        }
        #expect(looks == [500, 1000])
    }

    @Test("A look for another reason makes the timer's own needless") func looked() {
        var settling = FileWatcherSettling(quiet: .milliseconds(50), limit: .milliseconds(500))
        _ = settling.wrote(at: at(0))
        settling.looked()
        #expect(settling.woke(at: at(50)) == .nothing)
    }

    @Test("A write after such a look waits for its own quiet time, with the old timer") func wroteAfterLook() {
        var settling = FileWatcherSettling(quiet: .milliseconds(50), limit: .milliseconds(500))
        _ = settling.wrote(at: at(0))
        settling.looked()
        #expect(settling.wrote(at: at(30)) == .nothing)
        #expect(settling.woke(at: at(50)) == .wake(at: at(80)))
        #expect(settling.woke(at: at(80)) == .look)
    }

    static let urgencies: [(FileWatcherSignals, FileWatcherFound, FileWatcherUrgency)] = [
        (.armed, .unchanged, .now), (.written, .ready, .whenQuiet), (.closed, .ready, .now), ([.written, .closed], .ready, .now),
        (.created, .ready, .now), (.created, .empty, .whenQuiet), ([.created, .closed], .empty, .now),
        (.replaced, .ready, .now), (.replaced, .unchanged, .now), (.removed, .ready, .now), (.removed, .unchanged, .none),
        (.ended, .ready, .whenQuiet), ([.replaced, .created], .empty, .now), ([.replaced, .rerouted], .ready, .now),
        (.rerouted, .empty, .now), (.rerouted, .unchanged, .none), ([.rerouted, .written], .unchanged, .whenQuiet),
        ([.rerouted, .closed], .unchanged, .now), ([], .ready, .none),
    ]

    @Test("How urgent a look is", arguments: urgencies)
    func urgency(signals: FileWatcherSignals, found: FileWatcherFound, urgency: FileWatcherUrgency) {
        #expect(signals.urgency(found) == urgency)
    }

    @Test("A timer tells a difference twice, and then no more if a write could not leave the time stamps as they are") func comparison() {
        let other = FileWatcherIdentity.present(FileIdentity(device: 1, inode: 2, size: 3, modified: 4, changed: 5))
        var comparison = FileWatcherComparison(.missing)
        let seen: [FileWatcherIdentity] = [.missing, .missing, .missing, other, other, other, .missing, other, other, other]
        let news = seen.map { comparison.isNews($0, at: Date(timeIntervalSince1970: 3)) }
        #expect(news == [true, false, false, true, true, false, true, true, true, false])
    }

    @Test("As long as it could, it goes on telling") func unsureComparison() {
        let identity = FileWatcherIdentity.present(FileIdentity(device: 1, inode: 2, size: 3, modified: 0, changed: 5_000_000_000))
        var comparison = FileWatcherComparison(identity)
        let news = [4, 5, 5.5, 6, 6.5, 7, 7.5, 8].map { comparison.isNews(identity, at: Date(timeIntervalSince1970: $0)) }
        #expect(news == [true, true, true, true, true, true, true, false])
    }

    /// Follows a path on a disk of names.
    func walk(_ path: String, _ disk: [String: TrailEntry.Kind]) -> (asked: [String], walk: TrailWalk) {
        var walk = TrailWalk(path: path)
        var asked: [String] = []
        while let step = walk.next() {
            asked.append("\(step.folder) \(step.name)")
            walk.found(TrailEntry(kind: disk[step.path] ?? .missing))
        }
        return (asked, walk)
    }

    @Test("A path is followed from the root down") func plainWalk() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder, "/a/b": .folder, "/a/b/c": .file])
        #expect(asked == ["/ a", "/a b", "/a/b c"])
        #expect(walk.file == TrailWalk.Step(folder: "/a/b", name: "c"))
        #expect(walk.last == walk.file)
    }

    @Test("A name may begin with a combining mark") func combiningMark() {
        let (asked, walk) = walk("/a/\u{301}/b", ["/a": .folder, "/a/\u{301}": .link(target: "/\u{301}c"), "/\u{301}c": .folder])
        #expect(asked == ["/ a", "/a \u{301}", "/ \u{301}c", "/\u{301}c b"])
        #expect(walk.last == TrailWalk.Step(folder: "/\u{301}c", name: "b"))
    }

    @Test("A missing folder ends the way, and is not the file's name") func missingWalk() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder])
        #expect(asked == ["/ a", "/a b"])
        #expect(walk.file == nil)
        #expect(walk.last == nil)
    }

    @Test("A missing file is waited for under its name") func missingFile() {
        let (_, walk) = walk("/a/b", ["/a": .folder])
        #expect(walk.file == nil)
        #expect(walk.last == TrailWalk.Step(folder: "/a", name: "b"))
    }

    @Test("A file on the way ends it") func fileOnTheWay() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder, "/a/b": .file])
        #expect(asked == ["/ a", "/a b"])
        #expect(walk.file == nil)
    }

    @Test("Links are followed where they stand, two dots where they lead") func linkedWalk() {
        let (asked, walk) = walk(
            "/a/app",
            [
                "/a": .folder, "/a/app": .link(target: "..data/./app"), "/a/..data": .link(target: "../b//v1/"), "/b": .folder,
                "/b/v1": .folder, "/b/v1/app": .link(target: "/c"), "/c": .file,
            ])
        #expect(asked == ["/ a", "/a app", "/a ..data", "/ b", "/b v1", "/b/v1 app", "/ c"])
        #expect(walk.file == TrailWalk.Step(folder: "/", name: "c"))
    }

    @Test("A ring of links is followed as far as the kernel follows it") func ring() {
        let (asked, walk) = walk("/a", ["/a": .link(target: "b"), "/b": .link(target: "a")])
        #expect(asked.count == 41)
        #expect(Set(asked) == ["/ a", "/ b"])
        #expect(walk.file == nil)
    }

    @Test("Nothing is above the root") func aboveRoot() {
        #expect(walk("/../../a", [:]).asked == ["/ a"])
    }
}
