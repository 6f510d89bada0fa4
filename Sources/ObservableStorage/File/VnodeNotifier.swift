#if canImport(Darwin)
    /// Watches paths with Dispatch sources on open descriptors, as Apple's systems want it.
    struct VnodeNotifier: FileWatcherNotifier {
        var mechanism: FileWatcher.Mechanism { .vnode }

        func watch(
            _ path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void
        ) throws(FileWatcherObstacle) -> any FileWatcherArming {
            let arming = VnodeArming(path: path, signal: signal)
            do throws(FileWatcherObstacle) {
                _ = try arming.rearm(after: .rerouted)
            } catch {
                arming.cancel()
                throw error
            }
            return arming
        }
    }
#endif
