#if canImport(Darwin)
    import Dispatch
    import FoundationSubset

    extension VnodeCalls {
        /// The system's own calls.
        static let live = VnodeCalls(
            // A descriptor for events only does not prevent its volume from being unmounted; without O_NONBLOCK, opening a pipe would wait.
            openFlags: O_EVTONLY | O_NONBLOCK,
            makeSource: { DispatchSource.makeFileSystemObjectSource(fileDescriptor: $0, eventMask: $1, queue: $2) },
            isLocal: { path in
                do {
                    return try URL(fileURLWithPath: path).resourceValues(forKeys: [.volumeIsLocalKey]).volumeIsLocal ?? true
                } catch {
                    // The file is just being replaced.
                    return true
                }
            })
    }
#endif
