public import FoundationSubset

// Accessors convert nothing: an integer is not a real, and a string with digits is not a number.
extension PropertyListValue {
    /// The text of a string; nil if the value is of another type.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The number of an integer; nil if the value is of another type or does not fit into an `Int`.
    public var int: Int? {
        if case .integer(let integer) = self { integer.value() } else { nil }
    }

    /// The number of a real; nil if the value is of another type, such as an integer.
    public var double: Double? {
        if case .real(let real) = self { real } else { nil }
    }

    /// The truth value of a boolean; nil if the value is of another type, such as an integer.
    public var bool: Bool? {
        if case .boolean(let boolean) = self { boolean } else { nil }
    }

    /// The bytes of data; nil if the value is of another type.
    public var data: Data? {
        if case .data(let data) = self { data } else { nil }
    }

    /// The point in time of a date; nil if the value is of another type.
    public var date: Date? {
        if case .date(let date) = self { date } else { nil }
    }

    /// The elements of an array; nil if the value is of another type.
    public var array: [PropertyListValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The entries of a dictionary; nil if the value is of another type.
    public var dictionary: [String: PropertyListValue]? {
        if case .dictionary(let entries) = self { entries } else { nil }
    }
}

// `_modify` changes nested values in place; with `get` and `set`, each change would copy all enclosing containers.
// The payload is moved out of `self` during the access, so that it is uniquely referenced.
extension PropertyListValue {
    private static let placeholder = PropertyListValue.boolean(false)

    /// The value for a key of a dictionary; nil if there is none, or if this is not a dictionary.
    ///
    /// Setting nil removes the entry. Nothing changes if this is not a dictionary. Nested values are changed in place:
    ///
    /// ```swift
    /// value["server"]?["port"] = 80
    /// ```
    public subscript(key: String) -> PropertyListValue? {
        get {
            if case .dictionary(let entries) = self { entries[key] } else { nil }
        }
        _modify {
            guard case .dictionary(var entries) = self else {
                var missing: PropertyListValue?
                yield &missing
                return
            }
            self = Self.placeholder
            defer { self = .dictionary(entries) }
            yield &entries[key]
        }
    }

    /// The element of an array; nil if there is none at the index, or if this is not an array.
    ///
    /// Setting nil removes the element. Nothing changes if the index is out of range, or if this is not an array.
    public subscript(index: Int) -> PropertyListValue? {
        get {
            guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
            return elements[index]
        }
        _modify {
            guard case .array(var elements) = self, elements.indices.contains(index) else {
                var missing: PropertyListValue?
                yield &missing
                return
            }
            self = Self.placeholder
            var element: PropertyListValue? = elements[index]
            elements[index] = Self.placeholder
            defer {
                if let element { elements[index] = element } else { elements.remove(at: index) }
                self = .array(elements)
            }
            yield &element
        }
    }

    /// The value that a path of keys leads to; nil if there is none.
    ///
    /// ```swift
    /// value[path: "server", "port"] = 80
    /// ```
    ///
    /// In an array, a key that is a decimal number addresses an element. Setting a value creates the dictionaries that are missing on the
    /// way; setting nil removes the entry or element. Nothing changes if the path leads into a value of another type or to an index out of
    /// range. The empty path leads to the value itself, which cannot be removed.
    public subscript(path keys: String...) -> PropertyListValue? {
        get { self[path: keys] }
        set { self[path: keys] = newValue }
    }

    /// The value that a path of keys leads to; nil if there is none.
    ///
    /// The same as the subscript with several keys, for a path that is already an array.
    public subscript(path keys: [String]) -> PropertyListValue? {
        get {
            var value = self
            for key in keys {
                guard let next = value.isDictionary ? value[key] : Int(key).flatMap({ value[$0] }) else { return nil }
                value = next
            }
            return value
        }
        set { set(newValue, at: keys[...]) }
    }

    private mutating func set(_ newValue: PropertyListValue?, at path: ArraySlice<String>) {
        guard let key = path.first else {
            if let newValue { self = newValue }
            return
        }
        let rest = path.dropFirst()
        if !isDictionary {
            guard let index = Int(key) else { return }
            if rest.isEmpty { self[index] = newValue } else { self[index]?.set(newValue, at: rest) }
        } else if rest.isEmpty {
            self[key] = newValue
        } else if self[key] != nil {
            self[key]?.set(newValue, at: rest)
        } else if let newValue {
            self[key] = rest.reversed().reduce(newValue) { .dictionary([$1: $0]) }
        }
    }
}
