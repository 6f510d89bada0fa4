#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// Identification of file systems.
    @Suite("Mounts", .timeLimit(.minutes(10)))
    struct MountTableTests {
        @Test("The file system is identified by its device")
        func mounts() {
            let text = """
                22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
                23 22 0:50 /x /home rw shared:1 master:2 - nfs4 server:/x rw
                24 22 0:31 / /merged rw - overlay overlay rw,lowerdir=/a
                25 22 0:60 / /mnt rw - fuse.sshfs host: rw
                26 22 0:60 / /again rw - ext4 host: rw
                27 22 259:300 / /far rw - cifs host: rw
                28 22 garbage - x
                29 22 1:1
                """
            #expect(
                MountTable.types(MountInfo.parse(text)) == [
                    0xFE00: "ext4", 0x32: "nfs4", 0x1F: "overlay", 0x3C: "fuse.sshfs", 0x11_032C: "cifs",
                ])
        }

        @Test("Some file systems can be changed by other machines, and some have layers that can be")
        func reliability() {
            let types = ["ext4", "btrfs", "tmpfs", "nfs4", "cifs", "fuse", "fuse.sshfs", "9p", "overlay", "overlayfs"]
            #expect(types.filter(MountInfo.isRemote) == ["nfs4", "cifs", "fuse", "fuse.sshfs", "9p"])
            #expect(types.filter(MountInfo.isLayered) == ["overlay"])
        }

        @Test("Mount points are decoded exactly, including white space and backslashes in their names")
        func points() {
            let text = #"""
                22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
                23 22 254:0 /some\040where/file /a\040b/c\134d\011e rw - ext4 /dev/vda rw
                24 22 254:0 / /Größe\ rw - ext4 /dev/vda rw
                """#
            let infos = MountInfo.parse(text)
            #expect(infos.map(\.point) == ["/", "/a b/c\\d\te", "/Größe\\"])
            #expect(infos.map(\.root) == ["/", "/some where/file", "/"])
            #expect(infos.map(\.id) == ["22", "23", "24"])
        }

        @Test("The kernel's own file systems are recognized")
        func ownMounts() throws {
            var status = stat()
            try #require(stat("/proc/self", &status) == 0)
            let text = try #require(Disk.read("/proc/self/mountinfo"))
            let infos = MountInfo.parse(text)
            #expect(MountTable.types(infos)[UInt64(status.st_dev)] == "proc")
            #expect(MountTable.shared.fileSystemType(of: UInt64(status.st_dev)) == "proc")
            #expect(infos.contains { $0.point == "/proc" } == MountTable.shared.isMountPoint("/proc"))
            #expect(!MountTable.shared.isMountPoint("/proc/self"))
        }

        @Test("The table is read once more for a device that it lacks, and no further time")
        func unknownDevice() {
            let reads = Lock(0)
            var calls = FileSystemCalls.live
            calls.readBytesAt = { descriptor, buffer, offset throws(SystemError) in
                if offset == 0 { reads.withLock { $0 += 1 } }
                return try FileSystemCalls.live.readBytesAt(descriptor, buffer, offset)
            }
            let table = MountTable(calls: calls)
            for _ in 0..<3 { #expect(table.fileSystemType(of: .max) == nil) }
            // Other programs may mount something meanwhile.
            #expect(reads.withLock { 2..<4 ~= $0 })
        }

        @Test("File systems are found although the program has closed the table's file, and has opened another one instead")
        func closedDescriptor() throws {
            var status = stat()
            try #require(stat("/proc/self", &status) == 0)
            let opened = Recorder<Int32>()
            var calls = FileSystemCalls.live
            calls.openDescriptor = { path, flags, mode throws(SystemError) in
                let descriptor = try FileSystemCalls.live.openDescriptor(path, flags, mode)
                opened.record(descriptor)
                return descriptor
            }
            let table = MountTable(calls: calls)
            #expect(table.isMountPoint("/"))
            let first = try #require(opened.elements.first)
            let other = open("/dev/null", O_RDONLY)
            try #require(dup2(other, first) == first)
            for _ in 0..<2 { #expect(table.fileSystemType(of: UInt64(status.st_dev)) == "proc") }
            #expect(opened.elements.count == 2)
            for descriptor in [other] + opened.elements { close(descriptor) }
        }

        @Test("Mounts are reported although the program has closed the file that reports them, and has opened another one instead")
        func closedWhileWaiting() async throws {
            let tables = ["", "23 22 0:50 / /new rw - tmpfs none rw\n"].map { "22 1 254:0 / / rw - ext4 /dev/vda rw\n" + $0 }
            let other = open("/dev/null", O_RDONLY | O_CLOEXEC)
            let opened = Lock(0)
            var calls = FileSystemCalls.live
            calls.openDescriptor = { path, flags, mode throws(SystemError) in
                opened.withLock { $0 += 1 }
                return try FileSystemCalls.live.openDescriptor(path, flags, mode)
            }
            calls.readBytesAt = { descriptor, buffer, offset throws(SystemError) in
                let count = opened.withLock { $0 }
                guard offset == 0 else {
                    if count == 1 { _ = dup2(other, descriptor) }
                    return 0
                }
                buffer.copyBytes(from: tables[count - 1].utf8)
                return tables[count - 1].utf8.count
            }
            let points = Inbox<Set<String>>()
            let isAdded = MountTable(calls: calls).add { found in
                points.put(found)
                return true
            }
            #expect(isAdded)
            #expect(await points.first { _ in true } == ["/new"])
            close(other)
        }

        @Test("File systems are found although the table could not be read at once, or its changes were reported to somebody else")
        func unreadable() throws {
            var status = stat()
            try #require(stat("/proc/self", &status) == 0)
            let proc = UInt64(status.st_dev)
            let isFailing = Lock(true)
            // Without the line of this file system, as before it was mounted.
            let hides = Lock(false)
            var calls = FileSystemCalls.live
            calls.readBytesAt = { descriptor, buffer, offset throws(SystemError) in
                if isFailing.exchange(false) { throw SystemError(EBADF) }
                if hides.exchange(false) { return 0 }
                return try FileSystemCalls.live.readBytesAt(descriptor, buffer, offset)
            }
            let opened = Recorder<Int32>()
            calls.openDescriptor = { path, flags, mode throws(SystemError) in
                let descriptor = try FileSystemCalls.live.openDescriptor(path, flags, mode)
                opened.record(descriptor)
                return descriptor
            }
            let discarded = Recorder<Int32>()
            calls.closeDescriptor = { descriptor throws(SystemError) in
                discarded.record(descriptor)
                try FileSystemCalls.live.closeDescriptor(descriptor)
            }
            #expect(MountTable(calls: calls).fileSystemType(of: proc) == "proc")
            // None is left open, neither the one that could not be read nor the one that was read instead.
            #expect(opened.elements.count == 2 && discarded.elements == opened.elements)
            hides.exchange(true)
            let table = MountTable(calls: calls)
            for _ in 0..<2 { #expect(table.fileSystemType(of: proc) == "proc") }
            #expect(opened.elements.count == 4 && discarded.elements.count == 3)
        }
    }
#endif
