import Foundation
import TestSupport
import Testing

/// Runs the tool to its end.
func tool(_ arguments: String..., input: Data = Data(), environment: [String: String] = [:]) async throws -> Subprocess {
    try await Subprocess.finished("prefs", arguments, input: input, environment: environment)
}

/// A line that `prefs watch --json` printed.
struct PrintedChange: Decodable, Equatable {
    let key: String
    let old: Int?
    let new: Int?
    let kind: String
    let origin: String?
    let revision: UInt64

    init(_ line: String) throws {
        self = try JSONDecoder().decode(PrintedChange.self, from: Data(line.utf8))
    }
}
