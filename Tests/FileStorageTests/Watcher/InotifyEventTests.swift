#if os(Linux)
    import Foundation
    import Testing

    @testable import ObservableStorage

    /// Decoding the kernel's events, and finding their recipients.
    @Suite("inotify events", .timeLimit(.minutes(10)))
    struct InotifyEventTests {
        @Test("The kernel's buffer is decoded event by event")
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
                    #expect(events.map(\.mask) == [UInt32(IN_MOVED_TO), UInt32(IN_Q_OVERFLOW), UInt32(IN_CREATE)])
                }
            }
        }

        static let meanings: [(Int32, isFile: Bool, isLast: Bool, PathEvents)] = [
            (IN_MODIFY, true, false, .modified), (IN_CLOSE_WRITE, true, false, .closed), (IN_ATTRIB, true, false, .modified),
            (IN_DELETE_SELF, true, false, .ended), (IN_MOVE_SELF, true, false, .ended), (IN_IGNORED, true, false, .ended),
            (IN_UNMOUNT, true, false, .rerouted),
            (IN_Q_OVERFLOW, true, true, .rerouted), (IN_CREATE, false, true, .created), (IN_ATTRIB, false, true, [.created, .modified]),
            (IN_MOVED_TO, false, true, .replaced), (IN_MOVED_FROM, false, true, .removed), (IN_DELETE, false, true, .removed),
            (IN_MOVED_TO, false, false, .rerouted), (IN_DELETE_SELF, false, false, .rerouted), (IN_ATTRIB, false, false, .rerouted),
        ]

        @Test("The meaning of an event for the file, its name, and its path", arguments: meanings)
        func meaning(mask: Int32, isFile: Bool, isLast: Bool, events: PathEvents) {
            #expect(InotifyEvent(watch: 1, mask: UInt32(mask), name: isLast ? "a" : nil).events(isFile: isFile, isLast: isLast) == events)
        }

        @Test("A watch is kept while it has users")
        func table() {
            let (first, second) = (subscriber(), subscriber())
            var table = InotifyTable()
            let (folder, file) = (WatchKey(watch: 1, name: "a"), WatchKey(watch: 1, name: nil))
            table.insert(first, for: folder, UInt32(IN_CREATE))
            table.insert(first, for: folder, UInt32(IN_CREATE))
            table.insert(second, for: folder, UInt32(IN_CREATE))
            table.insert(second, for: file, UInt32(IN_CREATE))
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: UInt32(IN_CREATE), name: "a")).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: UInt32(IN_CREATE), name: "b")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 2, mask: UInt32(IN_CREATE), name: "a")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: UInt32(IN_DELETE_SELF), name: nil)).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: -1, mask: UInt32(IN_Q_OVERFLOW), name: nil)).count == 2)
            let removals = [(first, folder), (first, folder), (second, file), (second, folder)].map { table.remove($0.0, for: $0.1) }
            #expect(removals == [false, false, false, true])
            #expect(table.all.isEmpty)
            table.insert(first, for: folder, UInt32(IN_CREATE))
            table.forget(1)
            #expect(table.all.isEmpty)
        }

        @Test("Events of a watch are needed if its subscribers have all of them together")
        func needed() {
            var table = InotifyTable()
            let subscribers = (0..<3).map { _ in subscriber() }
            table.insert(subscribers[0], for: WatchKey(watch: 1, name: "a"), 1)
            table.insert(subscribers[1], for: WatchKey(watch: 1, name: "a"), 2)
            table.insert(subscribers[2], for: WatchKey(watch: 1, name: nil), 4)
            #expect(table.needs(0, of: 1) && table.needs(5, of: 1) && table.needs(7, of: 1))
            #expect(!table.needs(8, of: 1) && !table.needs(15, of: 1) && !table.needs(1, of: 2) && table.needs(0, of: 2))
            _ = table.remove(subscribers[1], for: WatchKey(watch: 1, name: "a"))
            #expect(!table.needs(7, of: 1) && table.needs(5, of: 1))
        }

        @Test("The other names in a folder are listed up to a limit, for the only subscriber of a name")
        func otherNames() {
            let (first, second) = (subscriber(), subscriber())
            var table = InotifyTable()
            let own = WatchKey(watch: 1, name: "a")
            for name in ["b", "c"] { table.insert(second, for: WatchKey(watch: 1, name: name), UInt32(IN_CREATE)) }
            #expect(table.names(besides: own, of: first, limit: 2) == nil)
            table.insert(first, for: own, UInt32(IN_CREATE))
            #expect(table.names(besides: own, of: first, limit: 2)?.map(\.name).sorted() == ["b", "c"])
            #expect(table.names(besides: own, of: first, limit: 1) == nil)
            table.insert(second, for: own, UInt32(IN_CREATE))
            #expect(table.names(besides: own, of: first, limit: 2) == nil)
        }

        private func subscriber() -> InotifyRegistration {
            InotifyRegistration(hub: InotifyHub(calls: .system), path: "/a", reportsCreation: true) { _ in }
        }
    }
#endif
