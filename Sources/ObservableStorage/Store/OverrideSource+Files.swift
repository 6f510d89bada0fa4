import FoundationSubset

extension OverrideSource {
    // Larger than any secret.
    private static let largestFileSize = 65_536

    /// The same source with the contents of the files that variables name.
    func readingFiles() -> OverrideSource {
        guard case .environment(var variables) = content else { return self }
        variables.readFiles(Self.content)
        return OverrideSource(content: .environment(variables))
    }

    /// The name and the text of the override of a key whose type is not known; nil if there is none.
    package func text(ofKey name: String) -> (name: String, text: Result<String, any Error>)? {
        readingFiles().text(of: EntryName(own: name)).map { ($0.source.description, $0.text.mapError { $0 as any Error }) }
    }

    /// The text of a file without one line break at its end, or the reason why it cannot be read.
    private static func content(ofFileAt path: String) -> Result<String, CodingFailure> {
        let calls = FileSystemCalls.live
        do throws(StorageError) {
            let file = try calls.destination(of: AbsolutePath(path))
            let tooLarge = { (size: Int64) in CodingFailure("\(path): it has \(size) bytes; \(largestFileSize) are read at most") }
            if let size = calls.statusOrNil(at: file)?.identity.size, size > largestFileSize { return .failure(tooLarge(size)) }
            guard let bytes = try calls.readFile(at: file)?.bytes else { return .failure(CodingFailure("\(path): there is no such file")) }
            // It may have grown since.
            if bytes.count > largestFileSize { return .failure(tooLarge(Int64(bytes.count))) }
            guard let text = String(validating: bytes, as: UTF8.self) else { return .failure(CodingFailure("\(path): it is not UTF-8")) }
            return .success(text.last?.isNewline == true ? String(text.dropLast()) : text)
        } catch {
            return .failure(CodingFailure("\(error)"))
        }
    }
}

extension EntryCache {
    /// Hides stored values by overrides. Called before anything is read.
    func open(_ overrides: [OverrideSource]) {
        if overrides.isEmpty { return }
        let opened = overrides.map { $0.readingFiles() }
        update { $0.layers.overrides = Overrides(opened) }
    }
}
