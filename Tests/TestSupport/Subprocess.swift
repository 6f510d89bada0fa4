#if os(macOS) || os(Linux)
    public import Foundation
    import Synchronization

    /// A program that has exited.
    public struct Subprocess: Sendable {
        /// The exit status; negative for the signal that ended it.
        public let status: Int32
        /// Its standard output.
        public let output: Data
        /// Its standard error, as text.
        public let errors: String

        /// Standard output as text.
        public var text: String {
            String(decoding: output, as: UTF8.self)
        }

        /// Runs a program found on the search path, or an executable of this package by its name; kills it after four minutes.
        ///
        /// - Parameters:
        ///   - program: a name, or a path with a `/`.
        ///   - arguments: its arguments.
        ///   - input: its standard input.
        ///   - environment: variables in addition to the inherited ones.
        public static func run(_ program: String, _ arguments: [String] = [], input: Data = Data(), environment: [String: String] = [:])
            throws
            -> Subprocess
        {
            let folder = try TemporaryFolder()
            let process = make(program, arguments, environment: environment)
            let files = ["in", "out", "err"].map(folder.file)
            try input.write(to: files[0])
            try Data().write(to: files[1])
            try Data().write(to: files[2])
            process.standardInput = try FileHandle(forReadingFrom: files[0])
            process.standardOutput = try FileHandle(forWritingTo: files[1])
            process.standardError = try FileHandle(forWritingTo: files[2])
            try start(process)
            // A program that hangs fails its test, and does not block others.
            let end = DispatchWorkItem { [pid = process.processIdentifier] in kill(pid, SIGKILL) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(240), execute: end)
            process.waitUntilExit()
            end.cancel()
            return Subprocess(
                status: process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus,
                output: try Data(contentsOf: files[1]),
                errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
        }

        /// Runs a program like ``run(_:_:input:environment:)``, without blocking a thread of the pool that tests run on.
        public static func finished(
            _ program: String, _ arguments: [String] = [], input: Data = Data(), environment: [String: String] = [:]
        ) async throws -> Subprocess {
            try await onThread { try run(program, arguments, input: input, environment: environment) }
        }

        /// Starts a program while no other one is being started.
        ///
        /// Foundation learns of the end of a program from a socket. Two that are started at the same time inherit each other's, and neither seems
        /// to have ended before the other one has.
        public static func start(_ process: Process) throws {
            try starting.withLock { _ in try process.run() }
        }

        private static let starting = Mutex(())

        /// A program that is ready to run, with unconnected streams.
        public static func make(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) -> Process {
            let process = Process()
            let own = executable(program)
            if FileManager.default.isExecutableFile(atPath: own.path) {
                process.executableURL = own
                process.arguments = arguments
            } else if program.contains("/") {
                process.executableURL = URL(fileURLWithPath: program)
                process.arguments = arguments
            } else {
                process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                process.arguments = [program] + arguments
            }
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            return process
        }

        /// The path of an executable of this package: next to the tests, or to another program that runs.
        public static func executable(_ name: String) -> URL {
            #if os(Linux)
                URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent(name)
            #else
                let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
                return (tests?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL).appendingPathComponent(name)
            #endif
        }
    }
#endif
