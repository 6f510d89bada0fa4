#if os(Linux)
    import Foundation
    import Testing

    @testable import ObservableStorage

    /// What the kernel tells, and who is told.
    @Suite("inotify events", .timeLimit(.minutes(5)))
    struct InotifyEventTests {
        @Test("What the kernel wrote is read event by event")
        func parsing() {
            var bytes = FakeInotify.event(watch: 3, mask: UInt32(IN_MOVED_TO), name: "app.plist")
            bytes += FakeInotify.event(watch: -1, mask: UInt32(IN_Q_OVERFLOW), name: nil)
            bytes += FakeInotify.event(watch: 4, mask: UInt32(IN_CREATE), name: "sixteen letters.")
            for cut in 0...bytes.count {
                var events: [InotifyEvent] = []
                bytes[..<cut].withUnsafeBytes { InotifyEvent.forEach(in: $0) { events.append($0) } }
                #expect(events.count <= 3)
                if cut == bytes.count {
                    #expect(events.map(\.watch) == [3, -1, 4])
                    #expect(events.map(\.name) == ["app.plist", nil, "sixteen letters."])
                    #expect(events.map(\.mask) == [InotifyEvent.Mask(rawValue: UInt32(IN_MOVED_TO)), .overflow, .create])
                }
            }
        }

        static let meanings: [(InotifyEvent.Mask, isFile: Bool, isLast: Bool, FileWatcherSignals)] = [
            (.modify, true, false, .written), (.closeWrite, true, false, .closed), (.attributes, true, false, .written),
            (.selfGone, true, false, .ended), (.ignored, true, false, .ended), (.unmount, true, false, .rerouted),
            (.overflow, true, true, .rerouted), (.create, false, true, .created), (.attributes, false, true, [.created, .written]),
            (.movedTo, false, true, .replaced), (.movedFrom, false, true, .removed), (.delete, false, true, .removed),
            (.movedTo, false, false, .rerouted), (.selfGone, false, false, .rerouted), (.attributes, false, false, .rerouted),
        ]

        @Test("What an event means to the file, to its name, and to the way there", arguments: meanings)
        func meaning(mask: InotifyEvent.Mask, isFile: Bool, isLast: Bool, signals: FileWatcherSignals) {
            #expect(InotifyEvent(watch: 1, mask: mask, name: isLast ? "a" : nil).signals(isFile: isFile, isLast: isLast) == signals)
        }

        @Test("A watch is kept as long as anybody uses it")
        func table() {
            final class Subscriber {}
            let (first, second) = (Subscriber(), Subscriber())
            var table = InotifyTable<Subscriber>()
            let (folder, file) = (
                InotifyTable<Subscriber>.Watched(watch: 1, name: "a"), InotifyTable<Subscriber>.Watched(watch: 1, name: nil)
            )
            table.insert(first, for: folder)
            table.insert(first, for: folder)
            table.insert(second, for: folder)
            table.insert(second, for: file)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .create, name: "a")).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .create, name: "b")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 2, mask: .create, name: "a")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .selfGone, name: nil)).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: -1, mask: .overflow, name: nil)).count == 2)
            let removals = [(first, folder), (first, folder), (second, file), (second, folder)].map { table.remove($0.0, for: $0.1) }
            #expect(removals == [false, false, false, true])
            #expect(table.isEmpty)
            table.insert(first, for: folder)
            table.forget(1)
            #expect(table.isEmpty)
        }
    }
#endif
