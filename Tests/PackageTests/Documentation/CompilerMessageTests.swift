import Foundation
import TestSupport
import Testing

/// Programs that do not compile.
@Suite("Messages of the compiler", .timeLimit(.minutes(10)))
struct CompilerMessageTests {
    /// The errors of the compiler for a program that uses the library.
    private func errors(of program: String) async throws -> [String] {
        let folder = try TemporaryFolder()
        let file = folder.file("Program.swift")
        try Data("import ObservableStorage\nstruct Theme: Sendable {}\n\(program)\n".utf8).write(to: file)
        let modules = Subprocess.executable("Modules").path
        let compiled = try await Subprocess.finished("swiftc", ["-typecheck", "-swift-version", "6", "-I", modules, file.path])
        return compiled.errors.split(separator: "\n").filter { $0.hasPrefix(file.path) && $0.contains("error: ") }.map { line in
            String(line.components(separatedBy: "error: ").last ?? "")
        }
    }

    @Test(
        "A property of a type that cannot be stored leads to the remedy",
        arguments: [
            "final class Model { @Persisted(\"theme\") var theme = Theme() }",
            "final class Model { @Persisted(\"theme\") var theme: Theme? }",
            "final class Model: SceneStoring { let sceneID: String? = nil; @SceneStored(\"theme\") var theme = Theme() }",
            "final class Model: SceneStoring { let sceneID: String? = nil; @SceneStored(\"theme\") var theme: Theme? }",
            "let key = StorageKey(\"theme\", default: Theme())",
        ])
    func remedy(program: String) async throws {
        let errors = try await errors(of: program)
        #expect(errors.count == 1)
        #expect(errors.allSatisfy { $0.contains("to Storable, or to CodableStorable if it is Codable, or pass 'codec:'") }, "\(errors)")
    }

    @Test("The same properties compile with a type that can be stored")
    func accepted() async throws {
        let program = "final class Model { @Persisted(\"theme\") var theme = 1; @Persisted(\"name\") var name: String? }"
        #expect(try await errors(of: program) == [])
    }
}
