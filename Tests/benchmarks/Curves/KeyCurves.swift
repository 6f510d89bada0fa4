import ObservableStorage
import PropertyListCoding

/// The cost of other keys in the store.
enum KeyCurves {
    static let curves = [
        curve(.read, .none) { StoreWork.read($0.store) },
        curve(.write, .none) { StoreWork.write($0.store) },
        curve(.deliver, .none) { Listeners.tell(1, in: $0.store) },
        Curve(.keys, .external, .linear) { place, count in
            let sample = try SampleStore(count, in: place)
            let (work, task) = try await External.receive(sample, count)
            return CurveWork(work) {
                task.cancel()
                try await sample.close()
            }
        },
        curve(.commit, .linear) { Committing.commit(to: $0.store) },
        Curve(.keys, .open, .linear) { place, count in
            let bytes = try PropertyListValue.dictionary(SampleList.make(count)).encoded(as: .binary)
            return CurveWork(try Opening.open(bytes, holding: SampleList.name(0), in: place))
        },
    ]

    private static func curve(
        _ operation: CurveOperation, _ growth: CurveGrowth, work: @escaping @Sendable (SampleStore) -> Work
    ) -> Curve {
        Curve(.keys, operation, growth) { place, count in
            let sample = try SampleStore(count, in: place)
            return CurveWork(work(sample), tearDown: sample.close)
        }
    }
}
