import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// A store on a file of its own that holds so many entries, and the one that is worked on.
struct SampleStore: Sendable {
    let folder: TemporaryFolder
    let file: URL
    let store: ObservableStore

    init(_ count: Int = 100, with more: [String: PropertyListValue] = [:], in place: Place) throws {
        folder = try place.folder()
        file = folder.file("settings.plist")
        let entries = SampleList.make(count).merging(more) { $1 }.merging(["launchCount": 0]) { $1 }
        try PropertyListValue.dictionary(entries).encoded(as: .binary).write(to: file)
        store = try ObservableStore(at: file)
    }

    /// Waits until nothing is being written any more.
    func close() async throws {
        try await store.close()
    }
}
