import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// A store for a separate file with the given number of entries, and its measured key.
struct SampleStore: Sendable {
    let folder: TemporaryFolder
    let file: URL
    let store: ObservableStore

    init(
        _ count: Int = 100, with more: [String: PropertyListValue] = [:], journal: JournalMode = .edits, in place: Place
    ) throws {
        folder = try place.folder()
        file = folder.file("settings.plist")
        let entries = SampleList.make(count).merging(more) { $1 }.merging(["launchCount": 0]) { $1 }
        try PropertyListValue.dictionary(entries).encoded(as: .binary).write(to: file)
        store = try ObservableStore(at: file, journal: journal)
    }

    /// Waits until all writes have finished.
    func close() async throws {
        try await store.close()
    }
}
