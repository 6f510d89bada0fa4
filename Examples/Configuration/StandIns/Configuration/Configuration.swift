// What StoreConfiguration uses of swift-configuration 1.0, declared as its documentation has it; written for this test, not taken from there.

/// A source of configuration values.
public protocol ConfigProvider: Sendable {
    var providerName: String { get }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult

    func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult

    func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey, type: ConfigType,
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
    ) async throws -> Return

    func snapshot() -> any ConfigSnapshot

    func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return
}

/// The values of a provider at one time.
public protocol ConfigSnapshot: Sendable {
    var providerName: String { get }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult
}

public struct AbsoluteConfigKey: Sendable, Hashable, ExpressibleByArrayLiteral {
    public var components: [String]
    public var context: [String: ConfigContextValue]

    public init(_ components: [String], context: [String: ConfigContextValue] = [:]) {
        (self.components, self.context) = (components, context)
    }

    public init(arrayLiteral elements: String...) {
        self.init(elements)
    }
}

public enum ConfigContextValue: Sendable, Hashable {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
}

@frozen public enum ConfigType: String, Sendable, Hashable {
    case string, int, double, bool, bytes, stringArray, intArray, doubleArray, boolArray, byteChunkArray
}

@frozen public enum ConfigContent: Sendable, Hashable {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case bytes([UInt8])
    case stringArray([String])
    case intArray([Int])
    case doubleArray([Double])
    case boolArray([Bool])
    case byteChunkArray([[UInt8]])
}

public struct ConfigValue: Sendable, Hashable {
    public var content: ConfigContent
    public var isSecret: Bool

    public init(_ content: ConfigContent, isSecret: Bool) {
        (self.content, self.isSecret) = (content, isSecret)
    }
}

public struct LookupResult: Sendable, Hashable {
    public var encodedKey: String
    public var value: ConfigValue?

    public init(encodedKey: String, value: ConfigValue?) {
        (self.encodedKey, self.value) = (encodedKey, value)
    }
}

/// The updates that a watching closure receives.
public struct ConfigUpdatesAsyncSequence<Element: Sendable, Failure: Error>: AsyncSequence {
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var upstream: any AsyncIteratorProtocol<Element, Failure>

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            try await upstream.next(isolation: actor)
        }
    }

    private let upstream: any AsyncSequence<Element, Failure>

    public init(_ upstream: some AsyncSequence<Element, Failure>) {
        self.upstream = upstream
    }

    public func makeAsyncIterator() -> AsyncIterator {
        func iterator(_ sequence: some AsyncSequence<Element, Failure>) -> any AsyncIteratorProtocol<Element, Failure> {
            sequence.makeAsyncIterator()
        }
        return AsyncIterator(upstream: iterator(upstream))
    }
}
