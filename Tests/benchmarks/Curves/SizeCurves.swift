import Foundation
import ObservableStorage
import PropertyListCoding

extension StorageKey<Data> {
    fileprivate static let blob = StorageKey("blob", default: Data())
}

/// The cost of a large value.
enum SizeCurves {
    static let curves = [
        curve(.read) { store, _ in
            .loop { count in
                for _ in 0..<count { consume(store[.blob]) }
            }
        },
        curve(.write) { store, size in write(to: store, size) },
        curve(.deliver) { store, size in
            let token = store.addUpdateListener(for: .blob) { consume($0.newValue) }
            let work = write(to: store, size)
            return Work { count in
                defer { consume(token) }
                return try await work.run(count)
            }
        },
        curve(.commit) { store, size in
            var values = Values(size)
            return Work { count in
                let start = Clock.now
                for _ in 0..<count {
                    store[.blob] = values.next()
                    try await store.flush()
                }
                return Double(Clock.now - start) / Double(count)
            }
        },
        Curve(.size, .open, .linear) { place, size in
            let list: PropertyListValue = .dictionary(["blob": .data(Data(repeating: 7, count: size))])
            return CurveWork(try Opening.open(list.encoded(as: .binary), holding: "blob", in: place))
        },
    ]

    private static func curve(_ operation: CurveOperation, work: @escaping @Sendable (ObservableStore, Int) -> Work) -> Curve {
        Curve(.size, operation, .linear) { place, size in
            let sample = try SampleStore(with: ["blob": .data(Data(repeating: 7, count: size))], in: place)
            return CurveWork(work(sample.store, size), tearDown: sample.close)
        }
    }

    private static func write(to store: ObservableStore, _ size: Int) -> Work {
        var values = Values(size)
        return Work { count in
            let time = Clock.time {
                for _ in 0..<count { store[.blob] = values.next() }
            }
            try await store.flush()
            return time / Double(count)
        }
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
