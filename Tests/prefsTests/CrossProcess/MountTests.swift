#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// File systems that are mounted and unmounted while a process watches, in a mount namespace of its own.
    @Suite("Mounting and unmounting", .timeLimit(.minutes(10)), .enabled(if: HostilePlaceTests.hasMounts))
    struct MountTests {
        private let folder: TemporaryFolder
        private let path: String
        private let other: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("a b/c/app.plist")
            other = folder.path("other/app.plist")
            for (file, content) in [(path, "one"), (other, "two")] {
                try FileManager.default.createDirectory(
                    at: URL(fileURLWithPath: file).deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(content.utf8).write(to: URL(fileURLWithPath: file))
            }
        }

        /// A process that watches a file, after its first check.
        private func watch(_ path: String) async throws -> RunningProgram {
            let watch = try RunningProgram("unshare", ["-m", Subprocess.executable("Peer").path, "file-events", path])
            try await watch.line { $0 == "look: one" }
            return watch
        }

        /// Lets the process make a change that it must detect.
        private func expect(_ watch: RunningProgram, _ line: String, after command: String) async throws {
            let count = watch.lines.elements.count
            try watch.send(command)
            _ = try await watch.lines.elements { $0.dropFirst(count).contains(line) }
        }

        @Test(
            "Mounting over a folder of the path, and unmounting, is reported, and so are changes in between",
            arguments: [false, true])
        func mountedFolder(isLinked: Bool) async throws {
            let (target, link) = (folder.path("a b"), folder.path("link"))
            if isLinked { try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target) }
            let watch = try await watch(isLinked ? "\(link)/c/app.plist" : path)
            try await expect(watch, "look: two", after: "mount --bind '\(folder.path("other"))' '\(target)/c'")
            try await expect(watch, "look: three", after: "printf three > '\(path)'")
            try await expect(watch, "look: one", after: "umount '\(target)/c'")
            try await expect(watch, "look: -", after: "mount -t tmpfs none '\(target)'")
            try await expect(watch, "look: four", after: "mkdir '\(target)/c' && printf four > '\(path)'")
            try await expect(watch, "look: one", after: "umount '\(target)'")
            try await expect(watch, "look: five", after: "printf five > '\(path)'")
            #expect(watch.lines.elements.allSatisfy { $0.hasPrefix("look: ") })
            try watch.endInput()
            #expect(try await watch.status == 0)
        }

        @Test("Mounting over the file is reported, with a warning that replacements outside the mount are not")
        func mountedFile() async throws {
            let watch = try await watch(path)
            let warning = "incomplete: \(path): is mounted as a single file (a bind mount, such as a Kubernetes subPath)"
            try await expect(watch, "look: two", after: "mount --bind '\(other)' '\(path)'")
            try await watch.line { $0.hasPrefix(warning) && $0.hasSuffix("mount the folder that holds it instead") }
            try await expect(watch, "look: three", after: "printf three > '\(other)'")
            try await expect(watch, "look: one", after: "umount '\(path)'")
            try await expect(watch, "look: four", after: "printf four > '\(path)'")
            #expect(watch.lines.elements.count { $0.hasPrefix("incomplete") } == 1)
            try watch.endInput()
            #expect(try await watch.status == 0)
        }

        @Test("A volume can be unmounted after the store on it was closed")
        func unmounting() async throws {
            let script = """
                cd "$2" && mkfifo in out && mount -t tmpfs none "${1%/*}" || exit 2
                "$0" session "$1" <in >out & exec 3>in 4<out
                ask() { echo "$1" >&3; read answer <&4; test "$answer" = done || exit 3; }
                ask open; ask "update key 1"
                umount "${1%/*}" && exit 4
                ask close
                umount "${1%/*}"
                """
            let command = ["-m", "/bin/sh", "-c", script, Subprocess.executable("Peer").path, path, folder.url.path]
            let result = try await Subprocess.finished("unshare", command)
            #expect(result.status == 0, "\(result.errors)")
        }

        @Test("A store reports once in its failures that its file is a mount point")
        func mountedStore() async throws {
            try await #expect(PeerSession(path, after: "rm \"$1\"").answers(to: ["open", "update key 1"]) == ["done", "done"])
            let script = "mount --bind \"$1\" \"$1\" && exec \"$0\" watch \"$1\" count"
            let watch = try RunningProgram("unshare", ["-m", "/bin/sh", "-c", script, Subprocess.executable("Peer").path, path])
            try await watch.line { $0.hasPrefix("failure: \(path): is mounted as a single file") }
            watch.signal(SIGKILL)
        }
    }
#endif
