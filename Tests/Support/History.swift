public import ObservableStorage
public import PropertyListCoding

/// What writers did to one store and what its observers saw; ``violations`` tells whether the one follows from the other.
public struct History: Sendable {
    /// A change as it is stored.
    public typealias Step = Change<PropertyListValue?>

    /// A write that returned: a mark that no other write has, stored under one key, or by a transaction under several.
    public struct Write: Sendable {
        /// What it stored.
        public var mark: Mark
        /// Where it stored it.
        public var keys: [String]

        /// Describes a write.
        public init(mark: Mark, keys: [String]) {
            (self.mark, self.keys) = (mark, keys)
        }
    }

    /// The changes that an observer of one key saw.
    public struct View: Sendable {
        /// What it is called in violations.
        public var name: String
        /// Its key.
        public var key: String
        /// What it saw.
        public var changes: [Step]
        /// Whether the first of them is the value at subscribing, as a change from itself.
        public var hasInitial: Bool
        /// Whether it was there before the first write.
        public var isFromStart: Bool
        /// Whether it stayed to the end.
        public var isToEnd: Bool

        /// Describes what an observer saw.
        public init(name: String, key: String, changes: [Step], hasInitial: Bool, isFromStart: Bool, isToEnd: Bool) {
            (self.name, self.key, self.changes) = (name, key, changes)
            (self.hasInitial, self.isFromStart, self.isToEnd) = (hasInitial, isFromStart, isToEnd)
        }
    }

    /// The values that a reader of the newest one saw.
    public struct Reading: Sendable {
        /// What it is called in violations.
        public var name: String
        /// Its key.
        public var key: String
        /// What it saw, nil for no value.
        public var values: [PropertyListValue?]
        /// Whether it stayed to the end.
        public var isToEnd: Bool

        /// Describes what a reader saw.
        public init(name: String, key: String, values: [PropertyListValue?], isToEnd: Bool) {
            (self.name, self.key, self.values, self.isToEnd) = (name, key, values, isToEnd)
        }
    }

    /// What was stored before the first write.
    public var start: [String: PropertyListValue] = [:]
    /// What was stored at the end.
    public var end: [String: PropertyListValue] = [:]
    /// What an observer of every key saw, from the first write to the end.
    public var changes: [Step] = []
    /// What observers of single keys saw.
    public var views: [View] = []
    /// What readers of the newest values saw.
    public var readings: [Reading] = []
    /// What each of the store's own writers wrote, in its order.
    public var writes: [String: [Write]] = [:]
    /// The writers of other stores on the same storage.
    public var others: Set<String> = []
    /// Keys that transactions alone write, all of them each time, so that they are equal whenever somebody looks.
    public var group: [String] = []

    /// An empty history.
    public init() {}
}

extension History {
    /// A value that says who wrote it, and as which of the writer's writes.
    public struct Mark: Sendable, Hashable {
        /// The writer.
        public let writer: String
        /// Counts the writer's writes.
        public let number: Int

        /// Marks a write.
        public init(_ writer: String, _ number: Int) {
            (self.writer, self.number) = (writer, number)
        }

        init?(_ value: PropertyListValue?) {
            guard case .string(let text)? = value, let separator = text.lastIndex(of: ":"),
                let number = Int(text[text.index(after: separator)...])
            else { return nil }
            self.init(String(text[..<separator]), number)
        }

        /// The mark as it is stored.
        public var value: PropertyListValue {
            .string("\(writer):\(number)")
        }
    }

    /// A rule that a history breaks, and where.
    public struct Violation: Sendable, CustomStringConvertible {
        /// What every store promises.
        public enum Rule: String, Sendable {
            /// Revisions rise, and a writer's writes are seen in its order.
            case order
            /// Each change arrives once.
            case once
            /// The old value of each change is the new value of the one before, and a change changes something.
            case chain
            /// The changes of a transaction have one revision of their own, and nobody sees a part of them.
            case atomicity
            /// Nothing is left out between the first change an observer sees and the last.
            case completeness
            /// The last value arrives.
            case lastValue
            /// Nothing is seen that nobody wrote.
            case origin
        }

        /// The rule.
        public let rule: Rule
        /// Where it is broken.
        public let place: String

        /// The rule and the place.
        public var description: String {
            "\(rule.rawValue): \(place)"
        }
    }
}
