extension StorageKey {
    /// The same key with a rule for its values.
    ///
    /// Setting a value for which the rule throws an error fails with ``StorageError/unencodable(key:reason:underlying:)``, whose reason is that
    /// error: a property setter reports it in the store's `failures`, the throwing one throws it. A stored value that is not valid is treated like
    /// one that cannot be decoded: reading returns the last valid value, or else the default, `failures` reports it, and it stays stored. Nil and
    /// the default are not checked. Several rules apply in the order in which they were added.
    ///
    /// - Parameter rule: throws an error for a value that is not valid. It is called on any thread, without a lock.
    public func validated(_ rule: @escaping @Sendable (Value) throws -> Void) -> StorageKey {
        with { traits in
            let earlier = traits.validate
            traits.validate = { value in
                try earlier?(value)
                try rule(value)
            }
            // Values cached without the rule must not be used.
            traits.codecNumber = uniqueNumber()
        }
    }

    /// The same key with a rule for its values, and the reason given in errors; see ``validated(_:)``.
    public func validated(_ reason: String, _ isValid: @escaping @Sendable (Value) -> Bool) -> StorageKey {
        validated { value in
            if !isValid(value) { throw CodingFailure(reason, withoutValue: reason) }
        }
    }

    /// The same key whose values must be in a range: `StorageKey("port", default: 8080).validated(in: 1...65_535)`; see ``validated(_:)``.
    public func validated<Range: RangeExpression & Sendable>(in range: Range) -> StorageKey where Range.Bound == Value {
        validated { value in
            if !range.contains(value) { throw CodingFailure(value, isNotIn: range) }
        }.with { $0.ranges.append(range.text) }
    }

    /// The same key whose values must be nil or in a range; see ``validated(_:)``.
    public func validated<Range: RangeExpression & Sendable>(in range: Range) -> StorageKey where Value == Range.Bound? {
        validated { value in
            if let value, !range.contains(value) { throw CodingFailure(value, isNotIn: range) }
        }.with { $0.ranges.append(range.text) }
    }
}

extension CodingFailure {
    fileprivate init<Range: RangeExpression>(_ value: Range.Bound, isNotIn range: Range) {
        self.init("\(value) is not in \(range.text)", withoutValue: "it is not in \(range.text)")
    }
}

extension RangeExpression {
    /// The range as it is written in source code.
    fileprivate var text: String {
        switch self {
        case let range as PartialRangeFrom<Bound>: "\(range.lowerBound)..."
        case let range as PartialRangeThrough<Bound>: "...\(range.upperBound)"
        case let range as PartialRangeUpTo<Bound>: "..<\(range.upperBound)"
        default: "\(self)"
        }
    }
}
