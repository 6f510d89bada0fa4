// A stand-in for Apple's Combine: the same names and signatures, for type-checking and small runs on Linux.
import Dispatch
import Foundation

public protocol Cancellable { func cancel() }
extension Cancellable {
    public func store(in set: inout Set<AnyCancellable>) { set.insert(AnyCancellable(self)) }
    public func store<C: RangeReplaceableCollection>(in collection: inout C) where C.Element == AnyCancellable {
        collection.append(AnyCancellable(self))
    }
}
public protocol CustomCombineIdentifierConvertible { var combineIdentifier: CombineIdentifier { get } }
public struct CombineIdentifier: Hashable, CustomStringConvertible, Sendable {
    private let value = UUID()
    public init() {}
    public init(_ object: AnyObject) {}
    public var description: String { value.uuidString }
}
extension CustomCombineIdentifierConvertible where Self: AnyObject {
    public var combineIdentifier: CombineIdentifier { CombineIdentifier(self) }
}

public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible { func request(_ demand: Subscribers.Demand) }
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
    associatedtype Input
    associatedtype Failure: Error
    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
}
public enum Subscribers {
    public struct Demand: Equatable, Comparable, Hashable, Sendable {
        let count: Int?
        public static let unlimited = Demand(count: nil)
        public static let none = Demand(count: 0)
        public static func max(_ value: Int) -> Demand { Demand(count: value) }
        public var max: Int? { count }
        public static func < (a: Demand, b: Demand) -> Bool { (a.count ?? .max) < (b.count ?? .max) }
        public static func + (a: Demand, b: Demand) -> Demand {
            guard let x = a.count, let y = b.count else { return .unlimited }
            return .max(x + y)
        }
        public static func += (a: inout Demand, b: Demand) { a = a + b }
        public static func -= (a: inout Demand, b: Int) { if let x = a.count { a = .max(x - b) } }
        public static func > (a: Demand, b: Int) -> Bool { (a.count ?? .max) > b }
        public static func == (a: Demand, b: Int) -> Bool { a.count == b }
    }
    public enum Completion<Failure: Error> {
        case finished
        case failure(Failure)
    }
    public final class Sink<Input, Failure: Error>: Subscriber, Cancellable {
        public let receiveValue: (Input) -> Void
        public let receiveCompletion: (Completion<Failure>) -> Void
        private var subscription: (any Subscription)?
        public init(receiveCompletion: @escaping (Completion<Failure>) -> Void, receiveValue: @escaping (Input) -> Void) {
            self.receiveValue = receiveValue
            self.receiveCompletion = receiveCompletion
        }
        public func receive(subscription: any Subscription) {
            self.subscription = subscription
            subscription.request(.unlimited)
        }
        public func receive(_ value: Input) -> Demand {
            receiveValue(value)
            return .none
        }
        public func receive(completion: Completion<Failure>) { receiveCompletion(completion) }
        public func cancel() {
            subscription?.cancel()
            subscription = nil
        }
    }
}
extension Subscribers.Completion: Sendable {}

public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}
extension Publisher {
    public func subscribe<S: Subscriber>(_ subscriber: S) where S.Input == Output, S.Failure == Failure {
        receive(subscriber: subscriber)
    }
    public func subscribe<S: Subject>(_ subject: S) -> AnyCancellable where S.Output == Output, S.Failure == Failure {
        sink(receiveCompletion: { subject.send(completion: $0) }, receiveValue: { subject.send($0) })
    }
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void, receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        let sink = Subscribers.Sink<Output, Failure>(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
        receive(subscriber: sink)
        return AnyCancellable(sink)
    }
    public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable where Failure == Never {
        sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
    }
    public func assign<Root>(to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root) -> AnyCancellable
    where Failure == Never {
        sink { object[keyPath: keyPath] = $0 }
    }
    public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }
    public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> { .init(upstream: self, transform: transform) }
    public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.CompactMap<Self, T> {
        .init(upstream: self, transform: transform)
    }
    public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.CompactMap<Self, Output> {
        .init(upstream: self) { isIncluded($0) ? $0 : nil }
    }
    public func receive<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil) -> Publishers.ReceiveOn<Self, S> {
        .init(upstream: self, scheduler: scheduler)
    }
}
extension Publisher where Failure == Never {
    public var values: AsyncPublisher<Self> { AsyncPublisher(self) }
}
public enum Publishers {
    public struct CompactMap<Upstream: Publisher, Output>: Publisher {
        public typealias Failure = Upstream.Failure
        public let upstream: Upstream
        public let transform: (Upstream.Output) -> Output?
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
            upstream.receive(subscriber: Forward<Upstream.Output, S>(subscriber, transform))
        }
    }
    public struct Map<Upstream: Publisher, Output>: Publisher {
        public typealias Failure = Upstream.Failure
        public let upstream: Upstream
        public let transform: (Upstream.Output) -> Output
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
            let transform = transform
            upstream.receive(subscriber: Forward<Upstream.Output, S>(subscriber) { .some(transform($0)) })
        }
    }
    public struct ReceiveOn<Upstream: Publisher, Context: Scheduler>: Publisher {
        public typealias Output = Upstream.Output
        public typealias Failure = Upstream.Failure
        public let upstream: Upstream
        public let scheduler: Context
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
            upstream.receive(subscriber: subscriber)
        }
    }
    final class Forward<Input, Down: Subscriber>: Subscriber {
        typealias Failure = Down.Failure
        let down: Down
        let transform: (Input) -> Down.Input?
        init(_ down: Down, _ transform: @escaping (Input) -> Down.Input?) {
            self.down = down
            self.transform = transform
        }
        func receive(subscription: any Subscription) { down.receive(subscription: subscription) }
        func receive(_ input: Input) -> Subscribers.Demand { transform(input).map { down.receive($0) } ?? .none }
        func receive(completion: Subscribers.Completion<Failure>) { down.receive(completion: completion) }
    }
}
public struct AnyPublisher<Output, Failure: Error>: Publisher {
    private let subscribeTo: (AnySubscriber<Output, Failure>) -> Void
    public init<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
        subscribeTo = { publisher.receive(subscriber: $0) }
    }
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
        subscribeTo(AnySubscriber(subscriber))
    }
}
public struct AnySubscriber<Input, Failure: Error>: Subscriber {
    public let combineIdentifier = CombineIdentifier()
    private let onSubscription: (any Subscription) -> Void
    private let onValue: (Input) -> Subscribers.Demand
    private let onCompletion: (Subscribers.Completion<Failure>) -> Void
    public init<S: Subscriber>(_ s: S) where S.Input == Input, S.Failure == Failure {
        onSubscription = { s.receive(subscription: $0) }
        onValue = { s.receive($0) }
        onCompletion = { s.receive(completion: $0) }
    }
    public func receive(subscription: any Subscription) { onSubscription(subscription) }
    public func receive(_ input: Input) -> Subscribers.Demand { onValue(input) }
    public func receive(completion: Subscribers.Completion<Failure>) { onCompletion(completion) }
}
public final class AnyCancellable: Cancellable, Hashable {
    private var onCancel: (() -> Void)?
    public init(_ cancel: @escaping () -> Void) { onCancel = cancel }
    public init<C: Cancellable>(_ canceller: C) { onCancel = { canceller.cancel() } }
    deinit { cancel() }
    public func cancel() {
        onCancel?()
        onCancel = nil
    }
    public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }
    public func store<C: RangeReplaceableCollection>(in collection: inout C) where C.Element == AnyCancellable {
        collection.append(self)
    }
    public static func == (a: AnyCancellable, b: AnyCancellable) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
extension AnyCancellable: @unchecked Sendable {}

public protocol Subject<Output, Failure>: AnyObject, Publisher {
    func send(_ value: Output)
    func send(completion: Subscribers.Completion<Failure>)
    func send(subscription: any Subscription)
}
extension Subject where Output == Void { public func send() { send(()) } }

final class Conduit<Output, Failure: Error>: Subscription, @unchecked Sendable {
    // Values may be sent by several threads.
    private let lock = NSRecursiveLock()
    private var down: AnySubscriber<Output, Failure>?
    private var demand: Subscribers.Demand = .none
    let combineIdentifier = CombineIdentifier()
    init(_ down: AnySubscriber<Output, Failure>) { self.down = down }
    func request(_ more: Subscribers.Demand) { lock.withLock { demand += more } }
    func offer(_ value: Output) {
        let receiver = lock.withLock { () -> AnySubscriber<Output, Failure>? in
            guard let down, demand > 0 else { return nil }
            demand -= 1
            return down
        }
        guard let receiver else { return }
        request(receiver.receive(value))
    }
    func finish(_ completion: Subscribers.Completion<Failure>) { taken()?.receive(completion: completion) }
    func cancel() { _ = taken() }
    private func taken() -> AnySubscriber<Output, Failure>? {
        lock.withLock {
            defer { down = nil }
            return down
        }
    }
}
public final class PassthroughSubject<Output, Failure: Error>: Subject {
    private let lock = NSRecursiveLock()
    private var conduits: [Conduit<Output, Failure>] = []
    public init() {}
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
        let conduit = Conduit(AnySubscriber(subscriber))
        lock.withLock { conduits.append(conduit) }
        subscriber.receive(subscription: conduit)
    }
    public func send(_ value: Output) { lock.withLock { conduits }.forEach { $0.offer(value) } }
    public func send(completion: Subscribers.Completion<Failure>) { lock.withLock { conduits }.forEach { $0.finish(completion) } }
    public func send(subscription: any Subscription) { subscription.request(.unlimited) }
}
public final class CurrentValueSubject<Output, Failure: Error>: Subject {
    private let lock = NSRecursiveLock()
    private var conduits: [Conduit<Output, Failure>] = []
    private var current: Output
    public init(_ value: Output) { current = value }
    public var value: Output {
        get { lock.withLock { current } }
        set { send(newValue) }
    }
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
        let conduit = Conduit(AnySubscriber(subscriber))
        lock.withLock { conduits.append(conduit) }
        subscriber.receive(subscription: conduit)
        conduit.offer(value)
    }
    public func send(_ value: Output) {
        lock.withLock { current = value }
        lock.withLock { conduits }.forEach { $0.offer(value) }
    }
    public func send(completion: Subscribers.Completion<Failure>) { lock.withLock { conduits }.forEach { $0.finish(completion) } }
    public func send(subscription: any Subscription) { subscription.request(.unlimited) }
}
extension PassthroughSubject: @unchecked Sendable {}
extension CurrentValueSubject: @unchecked Sendable {}
public struct Just<Output>: Publisher {
    public typealias Failure = Never
    public let output: Output
    public init(_ output: Output) { self.output = output }
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
        let conduit = Conduit(AnySubscriber(subscriber))
        subscriber.receive(subscription: conduit)
        conduit.offer(output)
        conduit.finish(.finished)
    }
}

public struct AsyncPublisher<P: Publisher>: AsyncSequence where P.Failure == Never {
    public typealias Element = P.Output
    private let publisher: P
    public init(_ publisher: P) { self.publisher = publisher }
    public struct Iterator: AsyncIteratorProtocol {
        var inner: AsyncStream<P.Output>.Iterator
        let cancellable: AnyCancellable
        public mutating func next() async -> P.Output? { await inner.next() }
    }
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncStream<P.Output>.makeStream()
        let cancellable = publisher.sink(
            receiveCompletion: { _ in continuation.finish() },
            receiveValue: { value in
                nonisolated(unsafe) let value = value
                continuation.yield(value)
            })
        return Iterator(inner: stream.makeAsyncIterator(), cancellable: cancellable)
    }
}

public protocol ObservableObject: AnyObject {
    associatedtype ObjectWillChangePublisher: Publisher = ObservableObjectPublisher
    where ObjectWillChangePublisher.Failure == Never
    var objectWillChange: ObjectWillChangePublisher { get }
}
extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
    public var objectWillChange: ObservableObjectPublisher { ObjectPublishers.shared.publisher(of: self) }
}
/// The publishers of objects without their own, which Apple's implementation keeps in the objects.
private final class ObjectPublishers: @unchecked Sendable {
    private struct Entry {
        weak var object: AnyObject?
        let publisher: ObservableObjectPublisher
    }
    static let shared = ObjectPublishers()
    private let lock = NSRecursiveLock()
    private var entries: [ObjectIdentifier: Entry] = [:]
    func publisher(of object: AnyObject) -> ObservableObjectPublisher {
        lock.lock()
        defer { lock.unlock() }
        if let entry = entries[ObjectIdentifier(object)], entry.object != nil { return entry.publisher }
        let publisher = ObservableObjectPublisher()
        entries = entries.filter { $0.value.object != nil }
        entries[ObjectIdentifier(object)] = Entry(object: object, publisher: publisher)
        return publisher
    }
}
public final class ObservableObjectPublisher: Publisher, @unchecked Sendable {
    public typealias Output = Void
    public typealias Failure = Never
    private let subject = PassthroughSubject<Void, Never>()
    public init() {}
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Void, S.Failure == Never { subject.receive(subscriber: subscriber) }
    public func send() { subject.send() }
}
@propertyWrapper public struct Published<Value> {
    private let subject: CurrentValueSubject<Value, Never>
    public init(wrappedValue: Value) { subject = CurrentValueSubject(wrappedValue) }
    public init(initialValue: Value) { subject = CurrentValueSubject(initialValue) }
    public var wrappedValue: Value {
        get { subject.value }
        nonmutating set { subject.value = newValue }
    }
    public struct Publisher: Combine.Publisher {
        public typealias Output = Value
        public typealias Failure = Never
        let subject: CurrentValueSubject<Value, Never>
        public func receive<S: Subscriber>(subscriber: S) where S.Input == Value, S.Failure == Never {
            subject.receive(subscriber: subscriber)
        }
    }
    public var projectedValue: Publisher { Publisher(subject: subject) }
}

public protocol Scheduler { associatedtype SchedulerOptions }
extension DispatchQueue: Scheduler { public struct SchedulerOptions {} }
extension RunLoop: Scheduler { public struct SchedulerOptions {} }
