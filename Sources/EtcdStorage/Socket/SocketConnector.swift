import Dispatch
import ObservableStorage

/// Connects a socket to a server for an actor on a serial queue: resolves the host name, and tries its addresses in order.
final class SocketConnector: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let endpoint: Endpoint
    private let queue: DispatchQueue
    private let waiter: EventWaiter
    private let event: UInt32
    private let addresses = Lock(Result<[SocketAddress], ResolutionError>?.none)

    /// - Parameters:
    ///   - queue: the queue of the actor and of the socket's events.
    ///   - waiter: suspends the actor's calls on that queue.
    ///   - event: the event of the waiter, which no other call may wait for.
    init(_ endpoint: Endpoint, queue: DispatchQueue, waiter: EventWaiter, event: UInt32) {
        (self.endpoint, self.queue, self.waiter, self.event) = (endpoint, queue, waiter, event)
    }

    /// Returns a connected socket. Each address gets an equal share of the remaining time.
    ///
    /// - Parameters:
    ///   - onReadable: called while reading is resumed and bytes, the end or an error can be read.
    ///   - onWritable: called while writing is resumed and bytes can be written.
    func socket(
        deadline: Instant, isolation: isolated (any Actor) = #isolation, onReadable: @escaping @Sendable () -> Void,
        onWritable: @escaping @Sendable () -> Void
    ) async throws(ConnectionError.Reason) -> Socket {
        let addresses = try await resolvedAddresses(deadline: deadline)
        var reason = ConnectionError.Reason.unknownHost("it has no address")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            do throws(ConnectionError.Reason) {
                return try await connected(to: address, deadline: .now + share, onReadable: onReadable, onWritable: onWritable)
            } catch {
                reason = error
            }
            if reason == .cancelled { break }
        }
        throw reason
    }

    private func resolvedAddresses(
        deadline: Instant, isolation: isolated (any Actor) = #isolation
    ) async throws(ConnectionError.Reason) -> [SocketAddress] {
        if let numeric = SocketAddress.numeric(endpoint) { return numeric }
        DispatchQueue.global().async { [self] in
            let result = SocketAddress.all(of: endpoint)
            addresses.withLock { $0 = result }
            queue.async { [waiter, event] in waiter.wake(event) }
        }
        var wake = EventWaiter.Wake.event
        while wake == .event {
            switch addresses.withLock({ $0 }) {
            case .success(let addresses): return addresses
            case .failure(let error): throw .unknownHost(error.reason)
            case nil: wake = await waiter.wait(for: event, until: deadline) { addresses.withLock { $0 != nil } }
            }
        }
        throw wake == .cancelled ? .cancelled : .deadlineExceeded
    }

    private func connected(
        to address: SocketAddress, deadline: Instant, isolation: isolated (any Actor) = #isolation,
        onReadable: @escaping @Sendable () -> Void, onWritable: @escaping @Sendable () -> Void
    ) async throws(ConnectionError.Reason) -> Socket {
        let reason: ConnectionError.Reason
        do throws(SocketError) {
            let socket = try Socket(connectingTo: address, queue: queue, onReadable: onReadable) { [waiter, event] in
                waiter.wake(event)
                onWritable()
            }
            var wake = EventWaiter.Wake.event
            while wake == .event {
                if try socket.isConnected() { return socket }
                socket.resumeWriting()
                wake = await waiter.wait(for: event, until: deadline) { false }
            }
            reason = wake == .cancelled ? .cancelled : .deadlineExceeded
        } catch {
            reason = .socket(error)
        }
        throw reason
    }
}
