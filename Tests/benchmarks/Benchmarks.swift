import Foundation

/// Compares the library's operations with the same work without the library.
@main
enum Benchmarks {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            exit(try await run(options) ? 0 : 1)
        } catch let error as UsageError {
            Diagnostics.print("\(error)\n\n\(Options.usage)")
            exit(2)
        } catch {
            Diagnostics.print("\(error)")
            exit(1)
        }
    }

    /// Returns whether every goal is met.
    private static func run(_ options: Options) async throws -> Bool {
        let place = Place(base: options.folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory)
        switch options.action {
        case .help: print(Options.usage)
        case .list:
            for row in Table.rows + Table.orientation { print(row.name) }
            for curve in CurveTable.curves { print(curve.name) }
            for table in EtcdTable.all { print(table.name) }
        case .rows: return try await RowRun(output: options.output, place: place).run(options.names)
        case .curves(let picture):
            return try await CurveRun(output: options.output, picture: picture, place: place).run(options.names)
        case .table(let page, let picture):
            let rows = MeasuredRow.all(in: try String(contentsOf: URL(fileURLWithPath: page), encoding: .utf8)).filter(\.isAlternative)
            guard !rows.isEmpty else { throw UsageError("\(page) has no tables made with --markdown") }
            try Data(TablePicture(rows).svg.utf8).write(to: URL(fileURLWithPath: picture))
        case .etcd: try await EtcdTable.run(options.names)
        case .watchEtcd(let watcher): try await watcher.watch()
        case .watch(let file): try await WatchingProcess.watch(file)
        }
        return true
    }
}
