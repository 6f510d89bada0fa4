@testable import EtcdStorage

extension EtcdClient {
    /// A client of members on ports of this machine, with deadlines that a loaded machine does not exceed.
    static func patient(ports: [Int], password: String? = nil) throws -> EtcdClient {
        try EtcdClient(
            EtcdConfiguration(
                endpoints: ports.map { "127.0.0.1:\($0)" }, prefix: "",
                credentials: password.map { EtcdConfiguration.Credentials(user: "root", password: $0) }, requestTimeout: .seconds(30),
                connectTimeout: .seconds(30)))
    }
}

extension EtcdWatch.Timing {
    /// No time passes that a loaded machine could exceed, and nothing is compared.
    static var patient: Self {
        Self(
            heartbeat: .milliseconds(200), silence: .seconds(30), response: .seconds(30), page: .seconds(30), comparison: .seconds(3_600),
            arrival: .seconds(300))
    }
}

/// A watch that runs in a task, until it is released.
final class RunningWatch: Sendable {
    private let task: Task<Void, Never>
    private let steps: AsyncStream<WatchStep>

    init(
        _ client: EtcdClient, keys: EntryKeys, after snapshot: EtcdSnapshot? = nil, timing: EtcdWatch.Timing = .patient,
        isAwaited: Bool = false
    ) {
        let (steps, continuation) = AsyncStream.makeStream(of: WatchStep.self)
        self.steps = steps
        task = Task {
            let watch = EtcdWatch(
                client, from: keys.rangeStart, to: keys.rangeEnd, after: snapshot, timing: timing, isAwaited: { isAwaited })
            await client.run(watch) { continuation.yield($0) }
            continuation.finish()
        }
    }

    deinit {
        task.cancel()
    }

    /// The next step; nil after the watch was cancelled. One call at a time.
    func next() async -> WatchStep? {
        var iterator = steps.makeAsyncIterator()
        return await iterator.next()
    }

    /// Ends the watch; its last steps can still be read.
    func cancel() {
        task.cancel()
    }

    /// The next revision with its events; passes over steps of other kinds.
    func nextEvents() async -> (revision: Int64, events: [WatchEvent])? {
        while let step = await next() {
            if case .events(let revision, let events) = step { return (revision, events) }
        }
        return nil
    }

    /// The next reset; passes over steps of other kinds.
    func nextReset() async -> EtcdSnapshot? {
        while let step = await next() {
            if case .reset(let snapshot) = step { return snapshot }
        }
        return nil
    }

    /// Waits until the watch is connected; passes over steps of other kinds.
    func untilConnected() async {
        while let step = await next() {
            if case .connected = step { return }
        }
    }

    /// Waits until no member serves; passes over steps of other kinds.
    func untilDisconnected() async -> (any Error)? {
        while let step = await next() {
            if case .disconnected(let error) = step { return error }
        }
        return nil
    }
}
