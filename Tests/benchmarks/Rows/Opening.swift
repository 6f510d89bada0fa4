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
        }
    ]

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
