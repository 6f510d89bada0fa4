import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

enum Opening {
    static let rows = [
        Row("open.10000", "open a store of 10,000 keys", against: "parse alone", goal: 1.5) { place in
            let bytes = try PropertyListValue.dictionary(SampleList.make(10_000)).encoded(as: .binary)
            return Pair(
                subject: try open(bytes, holding: SampleList.name(0), in: place),
                baseline: .each { try PropertyListValue.decode(bytes).value })
        },
        Row(
            "open.journal.10000", "the same, with 1,000 commits in its journal",
            against: "the same, without a journal", goal: 1.5
        ) { place in
            let (plain, journalled) = try (SampleStore(10_000, in: place), SampleStore(10_000, journal: withoutCheckpoints, in: place))
            for number in 1...1_000 {
                journalled.store[.launchCount] = number
                try await journalled.store.flush(to: .journal)
            }
            let works = [plain, journalled].map { sample in
                Work.each { try ObservableStore(at: sample.file, journal: withoutCheckpoints) }
            }
            return Pair(subject: works[1], baseline: works[0]) {
                for sample in [plain, journalled] { try await sample.close() }
            }
        },
    ]

    private static let withoutCheckpoints = JournalMode.full(quiet: .seconds(3_600), atMost: .seconds(3_600))

    /// Opens a store for a file with these bytes; the store is released after the clock has stopped.
    static func open(_ bytes: Data, holding name: String, in place: Place) throws -> Work {
        let folder = try place.folder()
        try bytes.write(to: folder.file("settings.plist"))
        let key = StorageKey<PropertyListValue?>(name)
        return .each {
            let store = try ObservableStore(at: folder.file("settings.plist"))
            try Failure.unless(store.isSet(key), "the store is empty")
            return store
        }
    }
}
