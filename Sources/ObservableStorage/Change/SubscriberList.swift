/// The subscribers of a publisher in the order in which they came.
struct SubscriberList<Element: Sendable>: Sendable {
    private(set) var subscribers: [Subscriber<Element>] = []

    /// Appends a subscriber that was made after all those on the list.
    mutating func append(_ subscriber: Subscriber<Element>) {
        subscribers.append(subscriber)
    }

    /// Takes a subscriber off the list, if it is on it.
    mutating func remove(_ subscriber: Subscriber<Element>) {
        // They stand in the order of their numbers, so that leaving a long list needs no search through it.
        var range = subscribers.startIndex..<subscribers.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if subscribers[middle].id == subscriber.id {
                subscribers.remove(at: middle)
                return
            }
            range = subscribers[middle].id < subscriber.id ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
    }

    /// Takes everyone off the list.
    mutating func removeAll() -> [Subscriber<Element>] {
        defer { subscribers = [] }
        return subscribers
    }
}
