#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// One notice of the kernel.
    struct InotifyEvent: Sendable, Hashable {
        /// The bits of a mask, by the kernel's names.
        struct Mask: OptionSet, Sendable, Hashable {
            let rawValue: UInt32

            static let modify = Mask(rawValue: UInt32(IN_MODIFY))
            static let attributes = Mask(rawValue: UInt32(IN_ATTRIB))
            static let closeWrite = Mask(rawValue: UInt32(IN_CLOSE_WRITE))
            static let create = Mask(rawValue: UInt32(IN_CREATE))
            static let delete = Mask(rawValue: UInt32(IN_DELETE))
            static let movedFrom = Mask(rawValue: UInt32(IN_MOVED_FROM))
            static let movedTo = Mask(rawValue: UInt32(IN_MOVED_TO))
            static let selfGone: Mask = [Mask(rawValue: UInt32(IN_DELETE_SELF)), Mask(rawValue: UInt32(IN_MOVE_SELF))]
            static let overflow = Mask(rawValue: UInt32(IN_Q_OVERFLOW))
            static let unmount = Mask(rawValue: UInt32(IN_UNMOUNT))
            static let ignored = Mask(rawValue: UInt32(IN_IGNORED))

            private static let add = Mask(rawValue: UInt32(IN_MASK_ADD))
            private static let onlyFolder = Mask(rawValue: UInt32(IN_ONLYDIR))
            private static let noLink = Mask(rawValue: UInt32(IN_DONT_FOLLOW))

            /// What is asked of the folder of a name that is there: its names, not what is written to its files. Nothing new gets the name
            /// unless what has it goes or is replaced, and many who write files beside it make a temporary one each time.
            static let folder: Mask = [.delete, .movedFrom, .movedTo, .attributes, .selfGone, .add, .onlyFolder, .noLink]
            /// What is asked of the folder of a name that is missing.
            static let folderOfMissing: Mask = folder.union(.create)
            /// What is asked of the file itself: all writing, also through its other names.
            static let file: Mask = [.modify, .closeWrite, .attributes, .selfGone, .add, .noLink]
        }

        let watch: Int32
        let mask: Mask
        /// The name in the folder, nil if the event is about what is watched itself.
        let name: String?

        /// Calls `body` for each event in what was read from an instance.
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
                        watch: header.wd, mask: Mask(rawValue: header.mask),
                        name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self)))
            }
        }
    }
#endif
