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
            let names = (Table.rows + Table.orientation).map(\.name) + Curve.all.map(\.name) + EtcdTable.all.map(\.name)
            for name in names { print(name) }
        case .rows: return try await Row.run(options, in: place)
        case .measure(let row): try await Row.measure(row, in: place)
        case .curves: return try await Curve.run(options, in: place)
        case .draw(let page): try draw(URL(fileURLWithPath: page))
        case .etcd: try await EtcdTable.run(options)
        case .watchEtcd(let watcher): try await watcher.watch()
        case .watch(let file): try await WatchingProcess.watch(file)
        }
        return true
    }

    /// Draws the tables of a page of the documentation as the pictures in the folder `Resources` beside it.
    private static func draw(_ page: URL) throws {
        let text = try String(contentsOf: page, encoding: .utf8)
        let (figures, curves) = (AlternativesPicture(text), CurvesPicture(text))
        guard !figures.rows.isEmpty, !curves.panels.isEmpty else { throw UsageError("\(page.path) has no tables made with --markdown") }
        let folder = page.deletingLastPathComponent().appendingPathComponent("Resources")
        for (name, svg) in [("figures", figures.svg), ("curves", curves.svg)] {
            try Data(svg.utf8).write(to: folder.appendingPathComponent("\(name).svg"))
        }
    }
}
