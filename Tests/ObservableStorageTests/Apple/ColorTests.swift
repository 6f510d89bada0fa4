#if canImport(SwiftUI)
    import ObservableStorage
    import PropertyListCoding
    import SwiftUI
    import Testing

    @Suite("Colors as values", .timeLimit(.minutes(10)))
    struct ColorTests {
        private let store: ObservableStore

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
        }

        @Test("A color is stored as four numbers in sRGB, which are the same after it was read and stored again")
        func stored() throws {
            let color = Color(.sRGB, red: 0.1, green: -0.25, blue: 1.5, opacity: 0.8)
            let stored = try color.propertyListValue
            #expect(stored == .array([.real(0.1), .real(-0.25), .real(1.5), .real(0.8)]))
            #expect(try Color(propertyListValue: stored).propertyListValue == stored)
            #expect(try Color(.sRGB, red: -0.0, green: 0, blue: 0).propertyListValue == .array([.real(0), .real(0), .real(0), .real(1)]))
        }

        @Test("A stored color is read, also one of integers, as people write it")
        func read() throws {
            let key = StorageKey("tint", default: Color(red: 0, green: 0, blue: 0))
            store.set([0.5, 1.0, 0.0, 1.0], forKey: "tint")
            #expect(store[key] == Color(red: 0.5, green: 1, blue: 0))
            store.set([1, 0, 0, 1], forKey: "tint")
            #expect(store[key] == Color(red: 1, green: 0, blue: 0))
            let optional = StorageKey<Color?>("tint")
            store[optional] = nil
            #expect(!store.isSet(key))
        }

        @Test(
            "What is no color is an error",
            arguments: [[0.5, 0.5, 0.5], [0, 0, 0, 0, 0], ["red"], "#FF0000", [.real(.nan), 0, 0, 1], [:]] as [PropertyListValue])
        func wrong(stored: PropertyListValue) {
            #expect(throws: (any Error).self) { try Color(propertyListValue: stored) }
        }

        @Test("A color that is no number is not stored")
        func infinite() {
            #expect(throws: (any Error).self) { try Color(red: .infinity, green: 0, blue: 0).propertyListValue }
        }
    }
#endif
