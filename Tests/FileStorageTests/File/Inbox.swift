import ObservableStorage

/// Elements that have arrived and were not yet taken.
final class Inbox<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])
    private let (arrivals, arrival) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Adds an element.
    func put(_ element: Element) {
        elements.withLock { $0.append(element) }
        arrival.yield()
    }

    /// Removes and returns all elements.
    @discardableResult func takeAll() -> [Element] {
        elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
    }

    /// Takes elements until one satisfies a condition; nil if the task is cancelled first.
    func first(where isWanted: (Element) -> Bool) async -> Element? {
        while true {
            let found = elements.withLock { elements -> Element? in
                guard let index = elements.firstIndex(where: isWanted) else {
                    elements = []
                    return nil
                }
                defer { elements.removeFirst(index + 1) }
                return elements[index]
            }
            if let found { return found }
            var iterator = arrivals.makeAsyncIterator()
            guard await iterator.next() != nil else { return nil }
        }
    }
}
