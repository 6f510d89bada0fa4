#if os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport
    import Testing

    /// The kernel's actual limits on watching.
    @Suite("The limits of inotify", .timeLimit(.minutes(10)))
    struct WatchLimitTests {
        // A user namespace has separate limits.
        private static let hasNamespaces = canStart("unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_instances")

        private let folder: TemporaryFolder
        private let file: URL

        init() throws {
            folder = try .inMemory()
            file = folder.file("settings.plist")
        }

        private func set(_ count: Int) async throws {
            let store = try ObservableStore(at: file)
            try await store.update { $0[Keys.count] = count }
            try await store.close()
        }

        @Test(
            "Without watches or instances, changes are still reported, and so is the reason", .enabled(if: hasNamespaces),
            arguments: [("instances", "no inotify instance or descriptor is left"), ("watches", "no inotify watches are left")])
        func exhausted(limit: String, reason: String) async throws {
            try await set(1)
            let script = "echo 0 > /proc/sys/user/max_inotify_\(limit) && exec \"$0\" watch \"$1\" count"
            let watch = try RunningProgram("unshare", ["-Ur", "/bin/sh", "-c", script, Subprocess.executable("Peer").path, file.path])
            try await watch.line { $0 == "value: 1" }
            let start = "failure: \(file.path): cannot be watched: \(reason)"
            try await watch.line { $0.hasPrefix(start) && $0.hasSuffix("it is polled instead") }
            try await set(2)
            try await watch.line { $0 == "value: 2" }
            #expect(watch.lines.elements.count { $0.hasPrefix("failure") } == 1)
            watch.signal(SIGKILL)
        }

        @Test("When instances are available again, they are used, which is reported", .enabled(if: hasNamespaces))
        func recovery() async throws {
            try Data("one".utf8).write(to: file)
            let limit = "> /proc/sys/user/max_inotify_instances"
            let script = "echo 0 \(limit) && exec \"$0\" file-events \"$1\""
            let watch = try RunningProgram("unshare", ["-Ur", "/bin/sh", "-c", script, Subprocess.executable("Peer").path, file.path])
            try await watch.line { $0.hasPrefix("fallback: \(file.path): cannot be watched: no inotify instance") }
            try watch.send("echo 10 \(limit)")
            try await watch.line { $0 == "recovered: inotify" }
            try Data("two".utf8).write(to: file, options: .atomic)
            try await watch.line { $0 == "look: two" }
            watch.signal(SIGKILL)
        }

        @Test(
            "A folder that is temporarily unreadable is watched again as soon as it is readable",
            .enabled(if: HostilePlaceTests.hasNobody))
        func unreadableFolder() async throws {
            try Data("one".utf8).write(to: file)
            let user = try #require(HostilePlaceTests.nobody.first)
            try #require(chown(folder.url.path, 65_534, 65_534) == 0 && chmod(folder.url.path, 0o755) == 0)
            try #require(chmod(file.path, 0o644) == 0)
            let watch = try RunningProgram(
                user, HostilePlaceTests.nobody.dropFirst() + [Subprocess.executable("Peer").path, "file-events", file.path])
            try await watch.line { $0 == "look: one" }
            try #require(chmod(folder.url.path, 0o300) == 0)
            try await watch.line { $0.hasPrefix("fallback: \(file.path): cannot be watched: \(folder.url.path): not readable") }
            try Data("two".utf8).write(to: file, options: .atomic)
            try #require(chmod(file.path, 0o644) == 0)
            try await watch.line { $0 == "look: two" }
            try #require(chmod(folder.url.path, 0o755) == 0)
            try await watch.line { $0 == "recovered: inotify" }
            watch.signal(SIGKILL)
        }

        @Test("A change is reported although the kernel's event queue overflowed")
        func overflow() async throws {
            try await set(1)
            let watch = try RunningProgram("Peer", ["watch", file.path, "count"])
            try await watch.line { $0 == "value: 1" }
            try await set(2)
            try await watch.line { $0 == "value: 2" }
            // While the process is stopped, other files fill its queue, so that there is no space for the last event.
            let text = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
            let room = try #require(Int(text.split(separator: "\n")[0]))
            watch.signal(SIGSTOP)
            let names = ["a", "b"].map(folder.path)
            try Data().write(to: folder.file("a"))
            for number in 0...room { #expect(rename(names[number % 2], names[1 - number % 2]) == 0) }
            try await set(3)
            watch.signal(SIGCONT)
            try await watch.line { $0 == "value: 3" }
            #expect(!watch.lines.elements.contains { $0.hasPrefix("failure") })
            watch.signal(SIGKILL)
        }

        @Test("A thousand stores share one inotify instance, each receives its file's changes, and no descriptor is left open")
        func manyStores() async throws {
            let peer = try await Subprocess.finished("Peer", ["many-stores", folder.url.path, "1000"])
            #expect(peer.text == "added [], inotify 1, heard 1000, left []\n", "\(peer.errors)")
        }
    }
#endif
