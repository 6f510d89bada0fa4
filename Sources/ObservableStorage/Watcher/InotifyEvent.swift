#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// An event as the kernel reports it.
    struct InotifyEvent: Sendable, Hashable {
        let watch: Int32
        let mask: UInt32
        /// The name in the folder; nil if the event concerns the watched file or folder itself.
        let name: String?

        /// The mask for the folder of a name that exists: events of its names, not of writes to its files. Not of new names, because
        /// writers of other files create temporary ones each time, and the watched name cannot be created before it is removed.
        static let folder = UInt32(
            IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_MASK_ADD | IN_ONLYDIR | IN_DONT_FOLLOW)
        /// The mask for the folder of a name that is missing.
        static let folderOfMissing = folder | UInt32(IN_CREATE)
        /// The mask for the file itself: all writes, also through other hard links.
        static let file = UInt32(
            IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_MASK_ADD | IN_DONT_FOLLOW)

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

        /// Whether the mask contains any of the flags.
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

    /// The subscribers of each watch and name, found in constant time.
    ///
    /// The kernel returns one watch for an inode, whatever the path, so it is kept while it has a subscriber.
    struct InotifyTable<Registration: AnyObject> {
        /// A name in a watched folder, or a watched file if there is no name.
        struct WatchKey: Sendable, Hashable {
            let watch: Int32
            let name: String?
        }

        private typealias Names = [String?: [ObjectIdentifier: Registration]]

        private var watches: [Int32: Names] = [:]

        var isEmpty: Bool {
            watches.isEmpty
        }

        mutating func insert(_ subscriber: Registration, for key: WatchKey) {
            watches[key.watch, default: [:]][key.name, default: [:]][ObjectIdentifier(subscriber)] = subscriber
        }

        /// Removes a subscription, and returns whether it was the last one of its watch.
        mutating func remove(_ subscriber: Registration, for key: WatchKey) -> Bool {
            guard let index = watches.index(forKey: key.watch),
                watches.values[index][key.name]?.removeValue(forKey: ObjectIdentifier(subscriber)) != nil
            else { return false }
            if watches.values[index][key.name]?.isEmpty == true {
                watches.values[index][key.name] = nil
            }
            guard watches.values[index].isEmpty else { return false }
            watches.remove(at: index)
            return true
        }

        /// Removes a watch that the kernel has ended.
        mutating func forget(_ watch: Int32) {
            watches[watch] = nil
        }

        /// The subscribers that an event concerns.
        func subscribers(of event: InotifyEvent) -> [Registration] {
            if event.contains(IN_Q_OVERFLOW) { return all }
            guard let names = watches[event.watch] else { return [] }
            if let name = event.name {
                return names[name].map { Array($0.values) } ?? []
            }
            return subscribers(of: CollectionOfOne(names))
        }

        /// All subscribers.
        var all: [Registration] {
            subscribers(of: watches.values)
        }

        private func subscribers(of watches: some Sequence<Names>) -> [Registration] {
            var unique: [ObjectIdentifier: Registration] = [:]
            for names in watches {
                for subscribers in names.values { unique.merge(subscribers) { first, _ in first } }
            }
            return Array(unique.values)
        }
    }
#endif
