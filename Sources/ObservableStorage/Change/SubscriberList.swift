/// The subscribers of a publisher in the order in which they came.
struct SubscriberList<Element: Sendable>: Sendable {
    private(set) var subscribers: [Subscriber<Element>] = []
    private var crowdSize = 64

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

    /// Everyone, each time that the list has grown to twice what it was: time to look for subscribers that nobody wants any more.
    mutating func crowd() -> [Subscriber<Element>]? {
        guard subscribers.count >= crowdSize else { return nil }
        crowdSize = subscribers.count * 2
        return subscribers
    }

    /// Takes everyone off the list.
    mutating func removeAll() -> [Subscriber<Element>] {
        defer { subscribers = [] }
        return subscribers
    }
}
