/// The connections to one member that are open and wait for a request.
struct EtcdConnections {
    // More are needed only for as many requests at the same moment.
    private static let mostIdle = 8

    /// The member.
    let endpoint: HTTPEndpoint
    private var idle: [HTTPConnection] = []

    /// Begins without connections.
    init(to endpoint: HTTPEndpoint) {
        self.endpoint = endpoint
    }

    /// Removes and returns the connection that was used last; nil if there is none that is still open.
    mutating func take() -> HTTPConnection? {
        while let connection = idle.popLast() {
            if connection.isReusable { return connection }
        }
        return nil
    }

    /// Keeps a connection for the next request, if another one may follow on it; otherwise it closes when it is released.
    mutating func put(_ connection: HTTPConnection) {
        // Those that the server has closed are not taken any more once there are newer ones.
        idle.removeAll { !$0.isReusable }
        if connection.isReusable && idle.count < Self.mostIdle { idle.append(connection) }
    }
}
