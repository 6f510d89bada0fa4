import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// The list of jobs of the example `Workers`, as its file has it.
private struct Job: CodableStorable {
    let number: Int
    var worker: Int32?
    var attempts = 0
    var result: Int?
}

nonisolated extension StorageKey<[Job]> {
    fileprivate static var jobs: StorageKey { StorageKey("jobs", default: []) }
}

/// Processes that share a list of jobs by transactions, some of which are killed.
@Suite("Workers that share jobs", .timeLimit(.minutes(10)))
struct WorkersTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let store: ObservableStore

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("jobs.plist")
        store = try ObservableStore(at: file)
    }

    @Test("The example does the job of a killed worker again, and each other job once")
    func example() async throws {
        let ended = try await Subprocess.finished("Workers", environment: ["TMPDIR": folder.url.path])
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        // 25 primes are below 100, and 303 below 2000.
        #expect(ended.text.contains("job 1: 25 primes, attempt 2\n") && ended.text.contains("job 20: 303 primes, attempt 1\n"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    @Test("Workers killed at any moment lose no job, and no job is finished twice")
    func killed() async throws {
        let kills = isLong ? 100 : 8
        // The first job is claimed by none of them, so that they do not end before enough of them were killed.
        try await store.update { $0[.jobs] = [Job(number: 1, worker: 0)] }
        var workers = try (0..<4).map { _ in try RunningProgram("Workers", [file.path]) }
        var killed: [RunningProgram] = []
        for await jobs in store.values(of: .jobs) {
            let open = jobs.filter { $0.result == nil && $0.worker != 0 }
            if open.isEmpty {
                try await store.update { transaction in
                    let count = transaction[.jobs].count
                    transaction[.jobs] += (count + 1...count + 10).map { Job(number: $0) }
                }
            }
            // Whatever it does at present: it may have finished that job meanwhile.
            guard let claimed = open.compactMap(\.worker).first,
                let index = workers.firstIndex(where: { $0.processIdentifier == claimed })
            else { continue }
            let worker = workers.remove(at: index)
            worker.signal(SIGKILL)
            #expect(try await worker.status == -SIGKILL)
            killed.append(worker)
            workers.append(try RunningProgram("Workers", [file.path]))
            let isLast = killed.count == kills
            try await store.update { transaction in
                for (index, job) in transaction[.jobs].enumerated() where job.result == nil {
                    if job.worker == claimed || (isLast && job.worker == 0) { transaction[.jobs][index].worker = nil }
                }
            }
            if isLast { break }
        }
        for worker in workers { #expect(try await worker.status == 0, "\(worker.errors.elements)") }
        let lines = (workers + killed).flatMap(\.lines.elements)
        #expect(Set(lines).count == lines.count)
        let jobs = try [Job](propertyListValue: #require(PropertyListFile(at: file).load().values["jobs"]))
        #expect(jobs.map(\.number) == Array(1...jobs.count))
        #expect(jobs.allSatisfy { $0.result != nil })
        // A killed worker may not have reported the job that it finished last.
        #expect((jobs.count - kills...jobs.count).contains(lines.count))
        #expect((jobs.count...jobs.count + kills).contains(jobs.map(\.attempts).reduce(0, +)))
    }
}
