#if canImport(Darwin)
    import Dispatch
    import FoundationSubset

    extension VnodeCalls {
        static let live = VnodeCalls(
            // O_EVTONLY does not prevent the volume from being unmounted; without O_NONBLOCK, opening a pipe would block.
            openFlags: O_EVTONLY | O_NONBLOCK,
            makeSource: { DispatchSource.makeFileSystemObjectSource(fileDescriptor: $0, eventMask: $1, queue: $2) },
            isLocal: { path in
                do {
                    return try URL(fileURLWithPath: path).resourceValues(forKeys: [.volumeIsLocalKey]).volumeIsLocal ?? true
                } catch {
                    // The file is being replaced.
                    return true
                }
            })
    }
#endif
