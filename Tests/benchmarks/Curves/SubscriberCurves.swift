import ObservableStorage

extension StorageKey<Int> {
    fileprivate static let other = StorageKey("other", default: 0)
}

/// The cost of subscribers: those of another key for reading and writing, those of the key for delivering.
enum SubscriberCurves {
    static let curves = [
        bystanders(.read) { StoreWork.read($0) },
        bystanders(.write) { StoreWork.write($0) },
        Curve(.subscribers, .deliver, .linear) { place, count in
            let sample = try SampleStore(in: place)
            return CurveWork(Listeners.tell(count, in: sample.store), tearDown: sample.close)
        },
        Curve(.subscribers, .readers, .linear) { place, count in
            let sample = try SampleStore(in: place)
            let (work, tasks) = try await Readers.tell(count, in: sample.store, \.end)
            return CurveWork(work) {
                for task in tasks { task.cancel() }
                try await sample.close()
            }
        },
    ]

    private static func bystanders(_ operation: CurveOperation, work: @escaping @Sendable (ObservableStore) -> Work) -> Curve {
        Curve(.subscribers, operation, .none) { place, count in
            let sample = try SampleStore(in: place)
            let tokens = (0..<count).map { _ in sample.store.addUpdateListener(for: .other) { consume($0.newValue) } }
            return CurveWork(work(sample.store)) {
                for token in tokens { token.cancel() }
                try await sample.close()
            }
        }
    }
}
