import Foundation
import ObservableStorage

/// A job in a list that several processes share. It is done when it has a result.
struct Job: CodableStorable, Equatable {
    let number: Int
    /// The process that has claimed the job; nil if it can be claimed.
    var worker: Int32?
    var attempts = 0
    var result: Int?
}

nonisolated extension StorageKey<[Job]> {
    static let jobs = StorageKey("jobs", default: [])
}

/// Starts itself four times as workers that share a list of jobs, and kills one of them during its job, which another worker then does.
///
/// With a path, it is a worker; with `hang` as well, a worker that hangs during its first job.
@main
enum Workers {
    nonisolated static let ownID = ProcessInfo.processInfo.processIdentifier

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count > 1 { return try await work(on: URL(filePath: arguments[1]), hangs: arguments.count > 2) }
        let folder = FileManager.default.temporaryDirectory.appending(path: "Workers-\(UUID())")
        let jobs = try await supervise(folder.appending(path: "jobs.plist"))
        try FileManager.default.removeItem(at: folder)
        for job in jobs { print("job \(job.number): \(job.result ?? 0) primes, attempt \(job.attempts)") }
        exit(jobs.map(\.attempts).reduce(0, +) == jobs.count + 1 ? 0 : 1)
    }

    /// Claims jobs and does them until all are done.
    static func work(on file: URL, hangs: Bool) async throws {
        let store = try ObservableStore(at: file)
        for await jobs in store.values(of: .jobs) {
            if jobs.allSatisfy({ $0.result != nil }) { break }
            while let job = try await claim(in: store) {
                if hangs { try await Task.sleep(for: .seconds(3600)) }
                if try await finish(job, with: countPrimes(below: job.number * 100), in: store) {
                    try FileHandle.standardOutput.write(contentsOf: Data("finished \(job.number)\n".utf8))
                }
            }
        }
        try await store.close()
    }

    /// Claims the first job that can be claimed. No other process has claimed it, because a transaction is exclusive.
    static func claim(in store: ObservableStore) async throws -> Job? {
        try await store.update { transaction in
            guard let index = transaction[.jobs].firstIndex(where: { $0.worker == nil && $0.result == nil }) else { return nil }
            transaction[.jobs][index].worker = ownID
            transaction[.jobs][index].attempts += 1
            return transaction[.jobs][index]
        }
    }

    /// Stores the result of a job; returns false if this process no longer has the job.
    static func finish(_ job: Job, with result: Int, in store: ObservableStore) async throws -> Bool {
        try await store.update { transaction in
            guard let index = transaction[.jobs].firstIndex(of: job) else { return false }
            transaction[.jobs][index].result = result
            return true
        }
    }

    /// Makes the unfinished jobs of a process that has ended available to others.
    static func release(jobsOf worker: Int32, in store: ObservableStore) async throws {
        try await store.update { transaction in
            for (index, job) in transaction[.jobs].enumerated() where job.worker == worker && job.result == nil {
                transaction[.jobs][index].worker = nil
            }
        }
    }

    static func supervise(_ file: URL) async throws -> [Job] {
        let store = try ObservableStore(at: file)
        try await store.update { $0[.jobs] = (1...20).map { Job(number: $0) } }
        var workers = [try start(["hang"], on: file, store)]
        var hanging: Int32? = workers[0].processIdentifier
        for await jobs in store.values(of: .jobs) {
            let open = jobs.filter { $0.result == nil }
            if open.isEmpty { break }
            // The others start when the first one has a job, and do all jobs except that one.
            guard let worker = hanging, open.contains(where: { $0.worker == worker }) else { continue }
            if workers.count == 1 { for _ in 0..<3 { workers.append(try start([], on: file, store)) } }
            if open.count == 1 {
                kill(worker, SIGKILL)
                hanging = nil
            }
        }
        for worker in workers { worker.waitUntilExit() }
        defer { withExtendedLifetime(store) {} }
        return store[.jobs]
    }

    /// Starts a worker, whose jobs are released when it ends, however it ends.
    ///
    /// The system uses the ID of a process for another one only after its parent was told of its end.
    static func start(_ arguments: [String], on file: URL, _ store: ObservableStore) throws -> Process {
        let worker = Process()
        worker.executableURL = Bundle.main.executableURL
        worker.arguments = [file.path] + arguments
        worker.terminationHandler = { worker in
            Task { try await release(jobsOf: worker.processIdentifier, in: store) }
        }
        try worker.run()
        return worker
    }

    static func countPrimes(below limit: Int) -> Int {
        (2..<limit).count { number in (2..<number).allSatisfy { !number.isMultiple(of: $0) } }
    }
}
