#if os(macOS) || os(Linux)
    public import Foundation

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
        private let isCompanion: Bool
        private let statuses = Recorder<Int32>()
        private let ends = Recorder<Void>()

        /// Starts a program found as ``Subprocess/make(_:_:environment:)`` does.
        public convenience init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
            try self.init(Subprocess.make(program, arguments, environment: environment), isCompanion: false)
        }

        /// Starts a program that ends when this process ends in any way, such as by a signal that both receive; it has nothing on its
        /// standard input.
        ///
        /// - Parameters:
        ///   - program: a name, or a path with a `/`.
        ///   - arguments: its arguments.
        ///   - folder: what is removed if this process is killed.
        ///   - receive: is called on a thread with each part of standard output, instead of recording its lines.
        public convenience init(
            companion program: String, _ arguments: [String], removing folder: String = "", _ receive: (@Sendable (Data) -> Void)? = nil
        ) throws {
            // The other shell sees the end of its input when this process ends. A line tells it that the program has ended already, and that
            // its number may be another process's.
            let script = """
                exec 3<&0
                { trap '' HUP INT TERM; read -r line || { kill -KILL $$; test -z "$0" || rm -rf "$0"; }; } <&3 >/dev/null 2>&1 &
                exec "$@" </dev/null 3<&-
                """
            let own = Subprocess.executable(program).path
            let path = FileManager.default.isExecutableFile(atPath: own) ? own : program
            try self.init(Subprocess.make("/bin/sh", ["-c", script, folder, path] + arguments), isCompanion: true, receive)
        }

        private init(_ process: Process, isCompanion: Bool, _ receive: (@Sendable (Data) -> Void)? = nil) throws {
            (self.process, self.isCompanion) = (process, isCompanion)
            let (output, failures) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            process.standardError = failures
            process.terminationHandler = { [statuses] process in
                statuses.record(process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus)
            }
            try Subprocess.start(process)
            hear(output, lines, receive)
            hear(failures, errors)
        }

        deinit {
            let isRunning = process.isRunning
            end()
            // Files that it writes until then would be left in a folder that the test has just removed.
            if isRunning { process.waitUntilExit() }
        }

        /// Kills it, if it runs.
        func end() {
            // A child may have inherited a thread's signal mask, which blocks other signals.
            if process.isRunning { signal(SIGKILL) }
            guard isCompanion else { return }
            // The shell that watches lives until it reads this: there is no broken pipe. It has inherited what tells Foundation of the end.
            _ = try? send("ended")
            _ = try? endInput()
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
        public var hasEnded: Bool { ends.elements.count == 2 }

        /// Its exit status, negative for the signal that ended it, after it has exited and all its lines were read.
        public var status: Int32 {
            get async throws {
                _ = try await ends.elements(count: 2)
                return try await statuses.elements(count: 1)[0]
            }
        }

        private func hear(_ pipe: Pipe, _ lines: Recorder<String>, _ receive: (@Sendable (Data) -> Void)? = nil) {
            // A thread, because reading blocks: the pool that tests run on has few.
            Thread.detachNewThread { [ends] in
                var rest = Data()
                while case let bytes = pipe.fileHandleForReading.availableData, !bytes.isEmpty {
                    if let receive {
                        receive(bytes)
                        continue
                    }
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
