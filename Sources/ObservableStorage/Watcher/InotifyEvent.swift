#if os(Linux)
    import FoundationSubset

    /// An event as the kernel reports it.
    struct InotifyEvent: Sendable, Hashable {
        let watch: Int32
        let mask: UInt32
        /// The name in the folder; nil if the event concerns the watched file or folder itself.
        let name: String?

        /// The mask for the folder of a watched file: events of its names, not of writes to its files. Not of new names or changed times,
        /// because writers of other files create temporary ones each time, and the watched name cannot be created before it is removed.
        static let folderOfFile = UInt32(
            IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW)
        /// The mask for the folder of a name that exists and may become accessible: the name of a folder or a link, or of a file that this
        /// user may not read.
        static let folder = folderOfFile | UInt32(IN_ATTRIB)
        /// The mask for the folder of a name that is missing.
        static let folderOfMissing = folder | UInt32(IN_CREATE)
        /// The mask for the file itself: all writes, also through other hard links.
        static let file = UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW)
        static let renaming = UInt32(IN_MOVED_FROM | IN_MOVED_TO)
        static let writing = UInt32(IN_MODIFY)

        /// Calls a closure for each event in the bytes read from an instance.
        static func forEach(in buffer: UnsafeRawBufferPointer, _ body: (InotifyEvent) -> Void) {
            let headerSize = MemoryLayout<inotify_event>.size
            var offset = 0
            while offset + headerSize <= buffer.count {
                let header = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let start = offset + headerSize
                offset = min(start + Int(header.len), buffer.count)
                // The name is padded with zeros.
                let name = buffer[start..<offset].prefix { $0 != 0 }
                body(
                    InotifyEvent(
                        watch: header.wd, mask: header.mask, name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self)))
            }
        }

        func contains(_ flags: Int32) -> Bool {
            mask & UInt32(flags) != 0
        }

        /// The events of a path, for an event of its file or its last name, or else of a folder or link on the path.
        func events(isFile: Bool, isLast: Bool) -> PathEvents {
            if contains(IN_Q_OVERFLOW | IN_UNMOUNT) || !(isFile || isLast) { return .rerouted }
            var events: PathEvents = []
            if contains(IN_MODIFY | IN_ATTRIB) { events.insert(.modified) }
            if contains(IN_CLOSE_WRITE) { events.insert(.closed) }
            if isLast, contains(IN_CREATE | IN_ATTRIB) { events.insert(.created) }
            if isLast, contains(IN_MOVED_TO) { events.insert(.replaced) }
            if isLast, contains(IN_DELETE | IN_MOVED_FROM) { events.insert(.removed) }
            if contains(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) { events.insert(.ended) }
            return events
        }
    }
#endif
