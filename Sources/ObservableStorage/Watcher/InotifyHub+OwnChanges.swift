#if os(Linux)
    import FoundationSubset

    // Changes of watched files by this process: each event wakes two threads, which is a fifth of the time of a commit
    // (commit.1000, commit.journal.1000).
    extension InotifyHub {
        /// The other names in a folder with their subscribers, and the files that they had before.
        private typealias OtherNames = [(name: String, subscribers: [InotifyRegistration], file: FileIdentity?)]

        // Each is looked up twice.
        private static let maximumNames = 4

        /// Stops the reports of a watch about a change that its subscriber is going to make, until the closure that it returns is called.
        /// That reports the other names that have another file than before; the caller looks at its own.
        ///
        /// - Parameters:
        ///   - events: the events of the change.
        ///   - path: the watched file, or the folder of the watched name.
        /// - Returns: nil if they are reported, because other subscribers need them, or the path leads elsewhere.
        func pause(_ events: UInt32, of key: WatchKey, at path: String, for subscriber: InotifyRegistration) -> (@Sendable () -> Void)? {
            let (others, disturbed) = state.withLock { state -> (OtherNames?, [Int32]) in
                guard let names = state.table.names(besides: key, of: subscriber, limit: Self.maximumNames) else {
                    return (nil, [])
                }
                let others = names.map { ($0.name, $0.subscribers, files.statusOrNil(at: ResolvedPath($0.name, in: path))?.identity) }
                let disturbed = set(state.table.mask(of: key.watch) & ~events, of: key.watch, at: path, &state)
                return (disturbed.isEmpty ? others : nil, disturbed)
            }
            reportLoss(of: disturbed)
            guard let others else { return nil }
            return { [self] in resume(key, at: path, others) }
        }

        private func resume(_ key: WatchKey, at path: String, _ others: OtherNames) {
            reportLoss(of: state.withLock { state in set(state.table.mask(of: key.watch), of: key.watch, at: path, &state) })
            for (name, subscribers, before) in others {
                let now = files.statusOrNil(at: ResolvedPath(name, in: path))?.identity
                if now.map({ before?.isSameFile(as: $0) ?? false }) ?? (before == nil) { continue }
                for subscriber in subscribers {
                    subscriber.receive(InotifyEvent(watch: key.watch, mask: UInt32(IN_MOVED_TO), name: name))
                }
            }
        }
    }
#endif
