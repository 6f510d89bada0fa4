import Foundation
import ObservableStorage
import UserDefaultsStorage

/// A program with a setting of each type that can be stored: sets them all, or prints which it reads back.
struct EveryType: KeyGroup {
    enum Level: String, Storable, LosslessStringConvertible { case low, high }

    struct Account: CodableStorable, Equatable {
        var name = ""
        var tags: [String: Set<Int>] = [:]
        var parent: [Account] = []
    }

    let boolean = StorageKey("boolean", default: false)
    let int = StorageKey("int", default: 0)
    let int8 = StorageKey("int8", default: Int8(0))
    let int16 = StorageKey("int16", default: Int16(0))
    let int32 = StorageKey("int32", default: Int32(0))
    let int64 = StorageKey("int64", default: Int64(0))
    let int128 = StorageKey("int128", default: Int128(0))
    let uint = StorageKey("uint", default: UInt(0))
    let uint8 = StorageKey("uint8", default: UInt8(0))
    let uint16 = StorageKey("uint16", default: UInt16(0))
    let uint32 = StorageKey("uint32", default: UInt32(0))
    let uint64 = StorageKey("uint64", default: UInt64(0))
    let uint128 = StorageKey("uint128", default: UInt128(0))
    let double = StorageKey("double", default: 0.0)
    let float = StorageKey("float", default: Float(0))
    let cgFloat = StorageKey("cgFloat", default: CGFloat(0))
    let point = StorageKey("point", default: CGPoint.zero)
    let size = StorageKey("size", default: CGSize.zero)
    let rect = StorageKey("rect", default: CGRect.zero)
    let string = StorageKey("string", default: "")
    let character = StorageKey("character", default: Character(" "))
    let data = StorageKey("data", default: Data())
    let date = StorageKey("date", default: Date.distantPast)
    let duration = StorageKey("duration", default: Duration.zero)
    let url = StorageKey<URL?>("url")
    let uuid = StorageKey<UUID?>("uuid")
    let decimal = StorageKey("decimal", default: Decimal(0))
    let locale = StorageKey<Locale?>("locale")
    let timeZone = StorageKey<TimeZone?>("timeZone")
    let array = StorageKey<[[Int]]>("array", default: [])
    let set = StorageKey<Set<String>>("set", default: [])
    let range = StorageKey("range", default: 0..<0)
    let closedRange = StorageKey("closedRange", default: 0.0...0.0)
    let dictionary = StorageKey<[String: [String: Bool]]>("dictionary", default: [:])
    let numbered = StorageKey<[Int: String]>("numbered", default: [:])
    let levels = StorageKey<[Level: Double]>("levels", default: [:])
    let level = StorageKey("level", default: Level.low)
    let account = StorageKey("account", default: Account())
    let accounts = StorageKey<[Account]>("accounts", default: [])
    let optional = StorageKey<Int?>("optional")
    let none = StorageKey<Int?>("none")
    let json = StorageKey("json", codec: .json, default: Account())
    let propertyList = StorageKey<PropertyListValue>("propertyList", default: 0)

    private struct UnknownRequest: Error {}

    static func run(_ request: String, in path: String) async throws {
        let settings = KeyedStore<EveryType>(try ObservableStore(at: URL(fileURLWithPath: path)))
        switch request {
        case "set": for setting in all { try setting.set(settings) }
        case "read":
            for setting in all where try !setting.isRead(settings) { try Peer.say("different: \(setting.value)") }
            let names = settings.store.entries.keys
            try Peer.say("\(names.count) of \(all.count) are stored, none is missing except \(Set(["none"]).subtracting(names))")
        default: throw UnknownRequest()
        }
        try await settings.store.close()
    }
}

extension EveryType {
    /// A key with a value that is not its default, except for nil.
    private struct Setting {
        let value: Any
        let set: (KeyedStore<EveryType>) throws -> Void
        let isRead: (KeyedStore<EveryType>) throws -> Bool

        init<Value: Equatable>(_ path: KeyPath<EveryType, StorageKey<Value>>, _ value: Value) {
            self.value = value
            set = { try $0.stored(path).set(value) }
            isRead = { try $0.stored(path).get() == value && $0[dynamicMember: path] == value }
        }
    }

    private static var all: [Setting] {
        [
            Setting(\.boolean, true),
            Setting(\.int, .min), Setting(\.int8, .min), Setting(\.int16, .min), Setting(\.int32, .min), Setting(\.int64, .min),
            Setting(\.int128, .min),
            Setting(\.uint, .max), Setting(\.uint8, .max), Setting(\.uint16, .max), Setting(\.uint32, .max), Setting(\.uint64, .max),
            Setting(\.uint128, .max),
            Setting(\.double, 0.1), Setting(\.float, 0.1), Setting(\.cgFloat, -0.5),
            Setting(\.point, CGPoint(x: 1, y: 2)), Setting(\.size, CGSize(width: 3, height: 4)),
            Setting(\.rect, CGRect(x: 1, y: 2, width: -3, height: 4)),
            Setting(\.string, "größer 🗝\n"), Setting(\.character, "👩‍👩‍👧"), Setting(\.data, Data([0, 255])),
            Setting(\.date, Date(timeIntervalSince1970: 1_700_000_000.25)), Setting(\.duration, .milliseconds(-1500)),
            Setting(\.url, URL(string: "https://example.com/a?b=%20#c")),
            Setting(\.uuid, UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")),
            Setting(\.decimal, Decimal(string: "-12345678901234567890.123456789")!),
            Setting(\.locale, Locale(identifier: "de_AT")), Setting(\.timeZone, TimeZone(identifier: "Europe/Vienna")),
            Setting(\.array, [[1, 2], [], [3]]), Setting(\.set, ["b", "a"]), Setting(\.range, -1..<5), Setting(\.closedRange, 0.5...1.5),
            Setting(\.dictionary, ["a": ["b": true], "": [:]]), Setting(\.numbered, [7: "seven", -1: "minus one"]),
            Setting(\.levels, [.low: 0.25, .high: 1]), Setting(\.level, .high),
            Setting(\.account, Account(name: "Ada", tags: ["x": [1]], parent: [Account(name: "Byron")])),
            Setting(\.accounts, [Account(name: "Ada"), Account(name: "Bob")]),
            Setting(\.optional, 5), Setting(\.none, nil), Setting(\.json, Account(name: "Eve")),
            Setting(\.propertyList, ["mixed": [1, true, 1.5, "text"]]),
        ]
    }
}
