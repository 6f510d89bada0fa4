import Foundation
import ObservableStorage
import PropertyListCoding

extension StorageKey<Int> {
    fileprivate static let other = StorageKey("other", default: 0)
}

extension StorageKey<Data> {
    fileprivate static let blob = StorageKey("blob", default: Data())
}

extension Curve {
    /// The curves in the order in which they are printed.
    static let all = keys + subscribers + processes + sizes

    /// The cost of other keys in the store.
    private static let keys = [
        stored(.keys, .read, .none) { sample, _ in (read(sample.store), {}) },
        stored(.keys, .write, .none) { sample, _ in (write(sample.store), {}) },
        stored(.keys, .deliver, .none) { sample, _ in (Listeners.tell(1, in: sample.store), {}) },
        stored(.keys, .external, .linear) { sample, count in
            let (work, task) = try await External.receive(sample, count)
            return (work, { task.cancel() })
        },
        stored(.keys, .commit, .linear) { sample, _ in (Committing.commit(to: sample.store), {}) },
        Curve(axis: .keys, operation: .open, growth: .linear) { place, count in
            let bytes = try PropertyListValue.dictionary(SampleList.make(count)).encoded(as: .binary)
            return (try Opening.open(bytes, holding: SampleList.name(0), in: place), {})
        },
    ]

    /// The cost of subscribers: those of another key for reading and writing, those of the key for delivering.
    private static let subscribers = [
        stored(.subscribers, .read, .none) { sample, count in (read(sample.store), bystanders(count, in: sample.store)) },
        stored(.subscribers, .write, .none) { sample, count in (write(sample.store), bystanders(count, in: sample.store)) },
        stored(.subscribers, .deliver, .linear) { sample, count in (Listeners.tell(count, in: sample.store), {}) },
        stored(.subscribers, .readers, .linear) { sample, count in
            let (work, tasks) = try await Readers.tell(count, in: sample.store, \.end)
            return (work, { for task in tasks { task.cancel() } })
        },
    ]

    /// The cost of other processes that watch the file.
    private static let processes = [
        stored(.processes, .external, .linear) { sample, count in
            let arrivals = Countdown()
            let watchers = try await WatchingProcess.start(["--watch", sample.file.path], count: count, arrivals)
            let writer = OtherWriter(sample.folder, entries: SampleList.make(100))
            return (External.receive(arrivals, from: writer, count: count), { withExtendedLifetime(watchers) {} })
        },
        stored(.processes, .commit, .linear) { sample, count in
            let watchers = try await WatchingProcess.start(["--watch", sample.file.path], count: count, Countdown())
            return (Committing.commit(to: sample.store), { withExtendedLifetime(watchers) {} })
        },
    ]

    /// The cost of a large value.
    private static let sizes = [
        stored(.size, .read, .linear) { sample, _ in
            let store = sample.store
            return (.loop { for _ in 0..<$0 { consume(store[.blob]) } }, {})
        },
        stored(.size, .write, .linear) { sample, size in (write(sample.store, size), {}) },
        stored(.size, .deliver, .linear) { sample, size in
            let token = sample.store.addUpdateListener(for: .blob) { consume($0.newValue) }
            return (write(sample.store, size), { token.cancel() })
        },
        stored(.size, .commit, .linear) { sample, size in
            var values = Values(size)
            let work = Work { count in
                let start = Clock.now
                for _ in 0..<count {
                    sample.store[.blob] = values.next()
                    try await sample.store.flush()
                }
                return Double(Clock.now - start) / Double(count)
            }
            return (work, {})
        },
        Curve(axis: .size, operation: .open, growth: .linear) { place, size in
            let list: PropertyListValue = .dictionary(["blob": .data(Data(repeating: 7, count: size))])
            return (try Opening.open(list.encoded(as: .binary), holding: "blob", in: place), {})
        },
    ]

    /// A curve of work with a store for a separate file, which is closed afterwards.
    ///
    /// - Parameter prepare: returns the work for one point, and what is done before the store is closed.
    private static func stored(
        _ axis: Axis, _ operation: Operation, _ growth: Growth,
        prepare: @escaping @Sendable (SampleStore, Int) async throws -> (Work, () throws -> Void)
    ) -> Curve {
        Curve(axis: axis, operation: operation, growth: growth) { place, count in
            let sample =
                switch axis {
                case .keys: try SampleStore(count, in: place)
                case .size: try SampleStore(with: ["blob": .data(Data(repeating: 7, count: count))], in: place)
                case .subscribers, .processes: try SampleStore(in: place)
                }
            let (work, end) = try await prepare(sample, count)
            let tearDown = {
                try end()
                try await sample.close()
            }
            return (work, tearDown)
        }
    }

    private static func read(_ store: ObservableStore) -> Work {
        .loop { for _ in 0..<$0 { consume(store[.launchCount]) } }
    }

    private static func write(_ store: ObservableStore) -> Work {
        var value = store[.launchCount]
        return Work { count in
            let time = Clock.time {
                for _ in 0..<count {
                    value += 1
                    store[.launchCount] = value
                }
            }
            try await store.flush()
            return time / Double(count)
        }
    }

    private static func write(_ store: ObservableStore, _ size: Int) -> Work {
        var values = Values(size)
        return Work { count in
            let time = Clock.time {
                for _ in 0..<count { store[.blob] = values.next() }
            }
            try await store.flush()
            return time / Double(count)
        }
    }

    /// Adds listeners for another key; the closure removes them.
    private static func bystanders(_ count: Int, in store: ObservableStore) -> () -> Void {
        let tokens = (0..<count).map { _ in store.addUpdateListener(for: .other) { consume($0.newValue) } }
        return { for token in tokens { token.cancel() } }
    }
}

/// Two alternating values that differ in their last byte, so a comparison has to read all of them.
private struct Values {
    private var current: Data
    private var other: Data

    init(_ size: Int) {
        current = Data(repeating: 1, count: size)
        other = current
        other[size - 1] = 2
    }

    mutating func next() -> Data {
        swap(&current, &other)
        return current
    }
}
