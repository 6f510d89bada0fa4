import FoundationSubset

extension PropertyListValue {
    /// The value as it reads back after it was written in a format.
    ///
    /// XML truncates dates to whole seconds and has a single NaN. Binary changes nothing, and neither does JSON: it refuses what it has no
    /// form for.
    public func rounded(for format: PropertyListFormat) -> PropertyListValue {
        guard format == .xml, holdsUnrounded else { return self }
        // An explicit stack, because recursion could exhaust that of the thread.
        var parents: [Frame] = []
        var frame = Frame(.array([self]))
        while true {
            if frame.next == frame.values.count {
                if parents.isEmpty { return frame.values[0] }
                let container = frame.container
                // Moved: with a second reference, adding a child would copy the others.
                frame = parents.removeLast()
                frame.add(container)
                continue
            }
            let value = frame.values[frame.next]
            if value.isContainer {
                parents.append(frame)
                frame = Frame(value)
            } else {
                frame.add(value.roundedLeaf ?? value)
            }
        }
    }

    /// The leaf as represented in XML, or nil if that is the same.
    private var roundedLeaf: PropertyListValue? {
        switch self {
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            // The sum turns -0.0 into 0.0, as reading the text of the date does.
            let whole = seconds.rounded(.down) + 0
            return whole.bitPattern == seconds.bitPattern ? nil : .date(Date(timeIntervalSinceReferenceDate: whole))
        case .real(let real):
            return real.isNaN && real.bitPattern != Double.nan.bitPattern ? .real(.nan) : nil
        default:
            return nil
        }
    }

    /// Whether there is a leaf at any depth that XML cannot represent exactly.
    private var holdsUnrounded: Bool {
        var pending = [self]
        while let value = pending.popLast() {
            switch value {
            case .array(let elements): pending += elements
            case .dictionary(let entries): pending += entries.values
            default: if value.roundedLeaf != nil { return true }
            }
        }
        return false
    }
}

/// A container whose children are being rounded.
private struct Frame {
    /// nil for an array.
    let keys: [String]?
    var values: [PropertyListValue]
    var next = 0

    init(_ container: PropertyListValue) {
        switch container {
        case .dictionary(let entries): (keys, values) = (Array(entries.keys), Array(entries.values))
        default: (keys, values) = (nil, container.array ?? [])
        }
    }

    mutating func add(_ child: PropertyListValue) {
        values[next] = child
        next += 1
    }

    var container: PropertyListValue {
        keys.map { .dictionary(Dictionary(uniqueKeysWithValues: zip($0, values))) } ?? .array(values)
    }
}
