import FoundationSubset

extension PropertyListValue {
    /// The value as it reads back after it was written in a format.
    ///
    /// XML truncates dates to whole seconds and has a single NaN. Binary changes nothing, and neither does JSON: it refuses what it has no
    /// form for.
    public func rounded(for format: PropertyListFormat) -> PropertyListValue {
        guard format == .xml else { return self }
        guard isContainer else { return roundedLeaf ?? self }
        guard holdsUnrounded else { return self }
        var parents: [Frame] = []
        var frame = Frame(self)
        while true {
            if frame.next < frame.values.count {
                let value = frame.values[frame.next]
                if value.isContainer {
                    parents.append(frame)
                    frame = Frame(value)
                } else {
                    frame.add(value.roundedLeaf)
                }
            } else {
                let value = frame.rounded
                guard let parent = parents.popLast() else { return value ?? self }
                frame = parent
                frame.add(value)
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

    /// Whether a container has a leaf at any depth that XML cannot represent exactly.
    private var holdsUnrounded: Bool {
        var pending = [self]
        while let container = pending.popLast() {
            switch container {
            case .array(let elements):
                for element in elements {
                    if element.isContainer { pending.append(element) } else if element.roundedLeaf != nil { return true }
                }
            case .dictionary(let entries):
                for element in entries.values {
                    if element.isContainer { pending.append(element) } else if element.roundedLeaf != nil { return true }
                }
            default: break
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
    var isChanged = false

    init(_ container: PropertyListValue) {
        switch container {
        case .dictionary(let entries): (keys, values) = (Array(entries.keys), Array(entries.values))
        case .array(let elements): (keys, values) = (nil, elements)
        default: (keys, values) = (nil, [])
        }
    }

    /// Replaces the next child, if it changed, and advances.
    mutating func add(_ child: PropertyListValue?) {
        if let child {
            values[next] = child
            isChanged = true
        }
        next += 1
    }

    /// The container with its changed children, or nil if none has changed.
    var rounded: PropertyListValue? {
        guard isChanged else { return nil }
        guard let keys else { return .array(values) }
        return .dictionary(zip(keys, values).reduce(into: [:]) { $0[$1.0] = $1.1 })
    }
}
