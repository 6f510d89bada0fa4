import ObservableStorage

/// The cost of other processes that watch the file.
enum ProcessCurves {
    static let curves = [
        Curve(.processes, .external, .linear) { place, count in
            let sample = try SampleStore(in: place)
            let arrivals = Countdown()
            var watchers: WatchingProcesses?
            _ = try await arrivals.time(count) {
                watchers = try WatchingProcesses(count, watching: sample.file, arrivals)
            }
            let writer = OtherWriter(sample.folder, entries: SampleList.make(100))
            return CurveWork(External.receive(arrivals, from: writer, count: count)) {
                try watchers?.end()
                try await sample.close()
            }
        },
        Curve(.processes, .commit, .linear) { place, count in
            let sample = try SampleStore(in: place)
            let arrivals = Countdown()
            var watchers: WatchingProcesses?
            _ = try await arrivals.time(count) {
                watchers = try WatchingProcesses(count, watching: sample.file, arrivals)
            }
            return CurveWork(Committing.commit(to: sample.store)) {
                try watchers?.end()
                try await sample.close()
            }
        },
    ]
}
