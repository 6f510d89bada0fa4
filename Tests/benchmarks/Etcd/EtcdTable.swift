import Foundation
import ObservableStorage
import TestSupport

/// A table of what watching etcd costs, by one quantity.
struct EtcdTable: Sendable {
    /// The name that selects it.
    let name: String
    private let columns: [String]
    private let points: [Int]
    private let measure: @Sendable (Int) async throws -> [String]

    init(_ name: String, _ columns: [String], _ points: [Int], measure: @escaping @Sendable (Int) async throws -> [String]) {
        (self.name, self.columns, self.points, self.measure) = (name, columns, points, measure)
    }

    static let all = EtcdWatchTables.all + EtcdRateTables.all

    /// Measures and prints the selected tables, or all.
    static func run(_ options: Options) async throws {
        if let missing = EtcdCluster.missing { throw Failure("it \(missing)") }
        for table in try options.selected(from: all, by: \.name) {
            let printed = PrintedTable(table.columns, isMarkdown: true)
            for point in table.points { try await printed.add([Figures.count(point)] + table.measure(point)) }
            print()
        }
    }

    /// Bytes with a unit.
    static func size(_ bytes: Double) -> String {
        bytes < 1e6 ? String(format: "%.0f kB", bytes / 1e3) : String(format: "%.1f MB", bytes / 1e6)
    }
}
