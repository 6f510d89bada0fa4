#if os(macOS) || os(Linux)
    import Foundation

    /// A running program, read line by line and ended on request.
    public final class RunningProgram: Sendable {
        /// It has ended before it wrote what a test waits for.
        public struct EndedEarly: Error {
            /// Its exit status, as ``RunningProgram/status``.
            public let status: Int32
            /// What it wrote to standard output.
            public let lines: [String]
            /// What it wrote to standard error.
            public let errors: [String]
        }

        /// The lines of its standard output so far.
        public let lines = Recorder<String>()
        /// The lines of its standard error so far.
        public let errors = Recorder<String>()
        private let process: Process
        private let input = Pipe()
        private let statuses = Recorder<Int32>()
        private let ends = Recorder<Void>()

        /// Starts a program found as ``Subprocess/make(_:_:environment:)`` does.
        public init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
            process = Subprocess.make(program, arguments, environment: environment)
            let (output, failures) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            process.standardError = failures
            process.terminationHandler = { [statuses] process in
                statuses.record(process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus)
            }
            try process.run()
            Self.hear(output, lines, ends)
            Self.hear(failures, errors, ends)
        }

        deinit {
            // A child may have inherited a thread's signal mask, which blocks other signals.
            guard process.isRunning else { return }
            signal(SIGKILL)
            // Files that it writes until then would be left in a folder that the test has just removed.
            process.waitUntilExit()
        }

        /// The lines of standard output, once there are at least the given number.
        ///
        /// - Throws: ``EndedEarly`` if they do not come.
        public func lines(count: Int) async throws -> [String] {
            try await lines { $0.count >= count }
        }

        /// Waits for a line of standard output.
        ///
        /// - Throws: ``EndedEarly`` if it does not come.
        public func line(where isWanted: @escaping @Sendable (String) -> Bool) async throws {
            _ = try await lines { $0.contains(where: isWanted) }
        }

        private func lines(when isEnough: @escaping @Sendable ([String]) -> Bool) async throws -> [String] {
            do {
                return try await lines.elements(when: isEnough)
            } catch let end as Recorder<String>.Ended {
                throw EndedEarly(status: try await status, lines: end.elements, errors: errors.elements)
            }
        }

        /// Writes a line to its standard input.
        public func send(_ line: String) throws {
            try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        }

        /// Closes its standard input.
        public func endInput() throws {
            try input.fileHandleForWriting.close()
        }

        /// The identifier of its process.
        public var processIdentifier: Int32 { process.processIdentifier }

        /// Sends it a signal.
        public func signal(_ number: Int32) {
            kill(process.processIdentifier, number)
        }

        /// Whether all its lines were read.
        var hasEnded: Bool { ends.elements.count == 2 }

        /// Its exit status, negative for the signal that ended it, after it has exited and all its lines were read.
        public var status: Int32 {
            get async throws {
                _ = try await ends.elements(count: 2)
                return try await statuses.elements(count: 1)[0]
            }
        }

        private static func hear(_ pipe: Pipe, _ lines: Recorder<String>, _ ends: Recorder<Void>) {
            // A thread, because reading blocks: the pool that tests run on has few.
            Thread.detachNewThread {
                var rest = Data()
                while true {
                    let bytes = pipe.fileHandleForReading.availableData
                    guard !bytes.isEmpty else { break }
                    rest += bytes
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        lines.record(String(decoding: rest[..<end], as: UTF8.self))
                        rest = Data(rest[(end + 1)...])
                    }
                }
                if !rest.isEmpty { lines.record(String(decoding: rest, as: UTF8.self)) }
                lines.end()
                ends.record(())
            }
        }
    }
#endif
