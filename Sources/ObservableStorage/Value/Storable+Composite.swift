import FoundationSubset
public import PropertyListCoding

extension Set: Storable, StandardStorable where Element: Storable {
    /// Creates a set from a stored array; equal elements become one.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .array = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self.init(try [Element](propertyListValue: propertyListValue))
    }

    /// An array in ascending order of the elements' stored forms, so that equal sets have the same stored form.
    public var propertyListValue: PropertyListValue {
        get throws {
            var elements: [(stored: PropertyListValue, bytes: Data)] = []
            elements.reserveCapacity(count)
            for element in self {
                do {
                    let stored = try element.propertyListValue
                    elements.append((stored, try stored.orderingBytes()))
                } catch {
                    throw CodingFailure(encoding: error)
                }
            }
            elements.sort { left, right in
                left.stored.precedes(right.stored) ?? left.bytes.lexicographicallyPrecedes(right.bytes)
            }
            return .array(elements.map(\.stored))
        }
    }
}

extension PropertyListValue {
    /// Whether the value is stored before another one in a set: by type, then by value; nil if their bytes have to be compared.
    fileprivate func precedes(_ other: PropertyListValue) -> Bool? {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.integer(let left), .integer(let right)): left.wide < right.wide
        // `<` does not order NaN.
        case (.real(let left), .real(let right)): !right.isTotallyOrdered(belowOrEqualTo: left)
        case (.date(let left), .date(let right)):
            !right.timeIntervalSinceReferenceDate.isTotallyOrdered(belowOrEqualTo: left.timeIntervalSinceReferenceDate)
        case (.data(let left), .data(let right)): left.lexicographicallyPrecedes(right)
        default: typeName == other.typeName ? nil : typeName < other.typeName
        }
    }

    /// The bytes that order a value which ``precedes(_:)`` does not; empty for the others.
    fileprivate func orderingBytes() throws -> Data {
        switch self {
        case .array, .dictionary, .boolean, .uid: try encoded(as: .binary)
        default: Data()
        }
    }
}

extension PropertyListInteger {
    // Every property-list integer fits.
    fileprivate var wide: Int128 { value(as: Int128.self) ?? 0 }
}

extension ClosedRange: Storable, StandardStorable where Bound: Storable {
    /// Creates a range from a stored dictionary with `lowerBound` and an `upperBound` that is not below it; other entries are ignored.
    public init(propertyListValue: PropertyListValue) throws {
        let (lower, upper): (Bound, Bound) = try propertyListValue.bounds(of: Self.self)
        self = lower...upper
    }

    /// A dictionary with `lowerBound` and `upperBound`, the same as that of a `Range`.
    public var propertyListValue: PropertyListValue {
        get throws {
            try PropertyListValue(entries: ["lowerBound": lowerBound, "upperBound": upperBound])
        }
    }
}

extension Range: Storable, StandardStorable where Bound: Storable {
    /// Creates a range from a stored dictionary with `lowerBound` and an `upperBound` that is not below it; other entries are ignored.
    public init(propertyListValue: PropertyListValue) throws {
        let (lower, upper): (Bound, Bound) = try propertyListValue.bounds(of: Self.self)
        self = lower..<upper
    }

    /// A dictionary with `lowerBound` and `upperBound`, the same as that of a `ClosedRange`.
    public var propertyListValue: PropertyListValue {
        get throws {
            try PropertyListValue(entries: ["lowerBound": lowerBound, "upperBound": upperBound])
        }
    }
}

// Values of several parts, each an entry of a dictionary.
extension PropertyListValue {
    fileprivate init(entries: KeyValuePairs<String, any Storable>) throws {
        var dictionary: [String: PropertyListValue] = [:]
        for (name, value) in entries {
            dictionary[name] = try value.storedPart(at: .step(to: name))
        }
        self = .dictionary(dictionary)
    }

    /// An entry of the dictionary that is stored for a value of several parts.
    package func entry<Value: Storable>(_ name: String, of type: Any.Type) throws -> Value {
        guard case .dictionary(let dictionary) = self else { throw CodingFailure(type, self) }
        guard let stored = dictionary[name] else { throw CodingFailure(Value.self, found: "nothing").inside(.step(to: name)) }
        return try Value(part: stored, at: .step(to: name))
    }

    fileprivate func bounds<Bound: Storable & Comparable>(of type: Any.Type) throws -> (lower: Bound, upper: Bound) {
        let lower: Bound = try entry("lowerBound", of: type)
        let upper: Bound = try entry("upperBound", of: type)
        // False for a NaN, too.
        guard lower <= upper else {
            throw CodingFailure(type, found: "the lower bound \(lower) and the upper bound \(upper), which are not in order")
        }
        return (lower, upper)
    }
}
