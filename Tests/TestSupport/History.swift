public import ObservableStorage
public import PropertyListCoding

/// The writes to one store and the changes that its observers received; ``violations`` checks that they are consistent.
public struct History: Sendable {
    /// A change as it is stored.
    public typealias Step = Change<PropertyListValue?>

    /// A write that returned: a unique mark, stored under one key, or by a transaction under several.
    public struct Write: Sendable {
        /// The stored mark.
        public var mark: Mark
        /// The keys of the write.
        public var keys: [String]
        /// Whether the store has told that it was stored; otherwise it may be seen, even as that of another writer, or not.
        public var isConfirmed: Bool

        /// Describes a write.
        public init(mark: Mark, keys: [String], isConfirmed: Bool = true) {
            (self.mark, self.keys, self.isConfirmed) = (mark, keys, isConfirmed)
        }
    }

    /// The changes that an observer of one key received.
    public struct View: Sendable {
        /// Its name in violations.
        public var name: String
        /// Its key.
        public var key: String
        /// The changes.
        public var changes: [Step]
        /// Whether the first of them is the value at subscribing, as a change from itself.
        public var hasInitial: Bool
        /// Whether it was added before the first write.
        public var isFromStart: Bool
        /// Whether it was not removed.
        public var isToEnd: Bool

        /// Describes the changes of an observer.
        public init(name: String, key: String, changes: [Step], hasInitial: Bool, isFromStart: Bool, isToEnd: Bool) {
            (self.name, self.key, self.changes) = (name, key, changes)
            (self.hasInitial, self.isFromStart, self.isToEnd) = (hasInitial, isFromStart, isToEnd)
        }
    }

    /// The values that a reader of the newest one received.
    public struct Reading: Sendable {
        /// Its name in violations.
        public var name: String
        /// Its key.
        public var key: String
        /// The values, nil for no value.
        public var values: [PropertyListValue?]
        /// Whether it was not removed.
        public var isToEnd: Bool

        /// Describes the values of a reader.
        public init(name: String, key: String, values: [PropertyListValue?], isToEnd: Bool) {
            (self.name, self.key, self.values, self.isToEnd) = (name, key, values, isToEnd)
        }
    }

    /// The entries before the first write.
    public var start: [String: PropertyListValue] = [:]
    /// The entries at the end.
    public var end: [String: PropertyListValue] = [:]
    /// The changes of all keys, from the first write to the end.
    public var changes: [Step] = []
    /// The changes that observers of single keys received.
    public var views: [View] = []
    /// The values that readers of the newest values received.
    public var readings: [Reading] = []
    /// The writes of each of the store's own writers, in order.
    public var writes: [String: [Write]] = [:]
    /// The writers of other stores with the same backend.
    public var others: Set<String> = []
    /// Keys that only transactions write, all of them each time, so that their values are always equal.
    public var group: [String] = []

    /// An empty history.
    public init() {}
}

extension History {
    /// A value that identifies its writer and write.
    public struct Mark: Sendable, Hashable {
        /// The writer.
        public let writer: String
        /// The number of the write.
        public let number: Int

        /// Creates a mark.
        public init(_ writer: String, _ number: Int) {
            (self.writer, self.number) = (writer, number)
        }

        init?(_ value: PropertyListValue?) {
            guard case .string(let text)? = value, let separator = text.lastIndex(of: ":"),
                let number = Int(text[text.index(after: separator)...])
            else { return nil }
            self.init(String(text[..<separator]), number)
        }

        /// The stored form of the mark.
        public var value: PropertyListValue {
            .string("\(writer):\(number)")
        }
    }

    /// A violated rule and its location.
    public struct Violation: Sendable, CustomStringConvertible {
        /// The guarantees of a store.
        public enum Rule: String, Sendable {
            /// Revisions increase, and the writes of a writer are observed in its order.
            case order
            /// Each change is delivered once.
            case once
            /// The old value of each change is the new value of the previous one, and differs from its new value.
            case chain
            /// The changes of a transaction have a separate revision, and nobody observes a part of them.
            case atomicity
            /// No change is missing between the first and the last that an observer receives.
            case completeness
            /// The last value is delivered.
            case lastValue
            /// Every observed value was written.
            case origin
        }

        /// The rule.
        public let rule: Rule
        /// The location of the violation.
        public let place: String

        /// The rule and the location.
        public var description: String {
            "\(rule.rawValue): \(place)"
        }
    }
}
