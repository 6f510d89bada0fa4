import EtcdStorage
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// What else could be used: etcd's own client, one request for everything, and a file that one program of the machine keeps equal to etcd.
enum EtcdAlternatives {
    static let rows = [
        Row(
            "etcd.go.transactions", "a transaction of a store on etcd, `$0[key] += 1`, one by one",
            against: "its two comparisons and two puts by etcd's client for Go, which watches the keys", goal: 1.25,
            missing: EtcdCluster.missing ?? missingGo
        ) { place in
            let (server, _) = try await EtcdCluster.started()
            let store = try await server.store("s")
            let program = try await goProgram(in: place, server)
            return Pair(subject: EtcdRows.transactions(store), baseline: program.work) {
                try await store.close()
                try program.program.endInput()
                withExtendedLifetime((server, program.folder)) {}
            }
        },
        Row(
            "etcd.watched.transactions",
            "two comparisons and two puts, as a store makes them, by plain requests on one connection, while a store watches the keys",
            against: "one comparison and one put, nobody watching", missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            let store = try await server.store("s")
            let watched = EtcdCounter("s/launchCount", "s/token", on: connection)
            let bare = EtcdCounter("b/launchCount", on: connection)
            return Pair(
                subject: Work { try await watched.add($0) / Double($0) }, baseline: Work { try await bare.add($0) / Double($0) }
            ) {
                try await store.close()
                withExtendedLifetime(server) {}
            }
        },
        Row(
            "etcd.stream.put", "a put by a plain request to the line that a thread reads from etcd's stream",
            against: "the same put to the line of `etcdctl watch`", missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            let (baseline, command) = try await EtcdRows.bareReceive(server, "b", connection)
            try await connection.put("s/told", Told.value(0))
            let (arrivals, watch) = (Countdown(), try server.connection())
            var begun = Task<Void, any Error> {}
            _ = await arrivals.time(1) { begun = Task { try await watch.watch("s/told") { arrivals.arrive() } } }
            try await begun.value
            return Pair(subject: EtcdRows.put("s/told", connection, arrivals), baseline: baseline) {
                watch.end()
                withExtendedLifetime((server, command)) {}
            }
        },
        Row(
            "etcd.pages", "fetch 10,000 keys of etcd by plain requests in pages of 1,000", against: "the same, in one request",
            missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            try await server.fill("s", 10_000, padding: EtcdPages.padding)
            let works = [Array(repeating: 1_000, count: 10), [10_000]].map { EtcdPages("s", of: $0).fetch(connection) }
            return Pair(subject: works[0], baseline: works[1]) { withExtendedLifetime(server) {} }
        },
        Row(
            "etcd.mirror", "a put to the element of a store on the file of `prefs mirror`, 100 keys",
            against: "the same put to the element of a store on etcd", missing: EtcdCluster.missing ?? missingPrefs
        ) { place in
            let (server, connection) = try await EtcdCluster.started()
            try await server.fill("s", 100)
            let (baseline, bareTask) = try await EtcdRows.receive(server, "s", connection)
            try await server.fill("mirrored", 100)
            try await connection.put("mirrored/told", Told.value(0))
            let folder = try place.folder()
            let file = folder.file("settings.plist")
            let mirror = try RunningProgram(companion: "prefs", ["mirror", "\(server.endpoint)/mirrored", file.path])
            while !FileManager.default.fileExists(atPath: file.path) {
                try Failure.unless(!mirror.hasEnded, "prefs mirror has ended")
                try await Task.sleep(for: .milliseconds(10))
            }
            let (arrivals, task) = await External.read(try ObservableStore(at: file), .told)
            return Pair(subject: EtcdRows.put("mirrored/told", connection, arrivals), baseline: baseline) {
                for task in [task, bareTask] { task.cancel() }
                withExtendedLifetime((server, mirror, folder)) {}
            }
        },
    ]

    private static let missingPrefs =
        FileManager.default.isExecutableFile(atPath: Subprocess.executable("prefs").path)
        ? nil : "needs prefs beside this program: swift build -c release --product prefs"

    // MARK: - Go

    private static let goPath = "/usr/share/gocode"
    private static let missingGo =
        isInstalled("go") && FileManager.default.fileExists(atPath: goPath + "/src/go.etcd.io/etcd/clientv3")
        ? nil : "needs Go and etcd's client: golang-go, golang-etcd-server-dev"

    /// Compiles the program of the baseline, and starts it.
    private static func goProgram(
        in place: Place, _ server: EtcdCluster
    ) async throws -> (work: Work, program: RunningProgram, folder: TemporaryFolder) {
        let folder = try place.folder()
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("transactions.go").path
        let built = try await Subprocess.finished(
            "go", ["build", "-o", folder.path("transactions"), source], environment: ["GO111MODULE": "off", "GOPATH": goPath])
        try Failure.unless(built.status == 0, built.errors)
        let program = try RunningProgram(folder.path("transactions"), [server.endpoint, "b/count"])
        var answers = 0
        let work = Work { count in
            try program.send("\(count)")
            answers += 1
            let answer = try await program.lines(count: answers)[answers - 1]
            guard let time = Double(answer) else { throw Failure("Go's program: \(answer)") }
            return time / Double(count)
        }
        return (work, program, folder)
    }
}
