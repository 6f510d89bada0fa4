/// The elements for a subscriber that states how many it accepts, and whether it is being called.
///
/// A state machine: each function returns the call to make now, if any. While a call is being made, events are only recorded, and
/// ``delivered(demanding:)`` returns the next call. So calls are made one at a time and in order, even if the subscriber demands, cancels
/// or causes elements inside a call.
struct DemandBuffer<Element: Sendable>: Sendable {
    enum Call: Sendable {
        case receive(Element)
        /// The end, after which there is no other call.
        case finish
    }

    private enum Phase {
        /// A call is being made. The first phase, because the subscriber receives its subscription before any element.
        case calling
        case idle
        case ended
    }

    private let keepsAll: Bool
    private var phase = Phase.calling
    private var isFinished = false
    // The number of elements that the subscriber still accepts; nil is without a limit.
    private var demand: Int? = 0
    // A delivered element is nil until it is removed, so that it is not retained, nor released under the owner's lock.
    private var elements: [Element?] = []
    // The index of the next element.
    private var first = 0

    /// - Parameter keepsAll: whether all elements are kept while there is no demand, or the newest one only.
    init(keepsAll: Bool) {
        self.keepsAll = keepsAll
    }

    private var count: Int { elements.count - first }

    /// Adds an element.
    ///
    /// - Returns: the call to make, and the replaced element, to be released outside the lock.
    mutating func append(_ element: Element) -> (call: Call?, dropped: Element?) {
        guard phase != .ended, !isFinished else { return (nil, nil) }
        var dropped: Element?
        // Demanded elements are never replaced: they only wait for the present call to end.
        if !keepsAll, let demand, count > demand, let last = elements.popLast() { dropped = last }
        elements.append(element)
        return (phase == .idle ? next() : nil, dropped)
    }

    /// Adds to the demand; nil is without a limit.
    mutating func request(_ more: Int?) -> Call? {
        add(more)
        return phase == .idle ? next() : nil
    }

    /// Ends the elements; those in the buffer are delivered first.
    mutating func finish() -> Call? {
        isFinished = true
        return phase == .idle ? next() : nil
    }

    /// Ends a call, in which the subscriber demanded more elements; nil is without a limit.
    mutating func delivered(demanding more: Int?) -> Call? {
        add(more)
        return phase == .calling ? next() : nil
    }

    /// Ends the calls.
    ///
    /// - Returns: the elements in the buffer, to be released outside the lock.
    mutating func cancel() -> [Element] {
        phase = .ended
        defer { (elements, first) = ([], 0) }
        return elements[first...].compactMap { $0 }
    }

    private mutating func add(_ more: Int?) {
        guard let more, let present = demand else { return demand = nil }
        let (sum, isOverflow) = present.addingReportingOverflow(more)
        demand = isOverflow ? nil : sum
    }

    private mutating func next() -> Call? {
        if demand != 0, let element = popFirst() {
            phase = .calling
            demand = demand.map { $0 - 1 }
            return .receive(element)
        }
        if count == 0, isFinished {
            phase = .ended
            return .finish
        }
        phase = .idle
        return nil
    }

    private mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = elements[first].take()
        first += 1
        // Removed in groups: removing each one would move all that follow.
        if first * 2 >= elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
