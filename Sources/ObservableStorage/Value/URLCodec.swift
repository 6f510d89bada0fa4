public import FoundationSubset
import PropertyListCoding

extension StorageCodec where Value == URL {
    /// The form in which `UserDefaults` stores URLs: the path of a file, and a keyed archive of any other URL.
    ///
    /// `UserDefaults.url(forKey:)` reads what this codec writes, on Apple's systems and on Linux. The codec reads what `set(_:forKey:)` of
    /// Apple's `UserDefaults` writes, and this library's own form, the absolute string. On Linux, `UserDefaults` stores only the path of
    /// any URL, which is read as that of a file.
    ///
    /// ```swift
    /// let home = StorageKey<URL?>("home", codec: .userDefaults)
    /// ```
    public static var userDefaults: StorageCodec {
        .custom(
            encode: { url in url.isFileURL ? .string(url.path) : .data(try PropertyListValue.archive(of: url).encoded(as: .binary)) },
            decode: { stored in
                switch stored {
                case .string:
                    try stored.parsed { text in
                        let url = URL(string: text, encodingInvalidCharacters: false)
                        return URL(storedPath: text) ?? (url?.scheme == nil ? nil : url)
                    }
                case .data(let data): try URL(archive: PropertyListValue.decode(data).value)
                default: throw CodingFailure(URL.self, stored)
                }
            })
    }
}

extension URL {
    /// The root object of a keyed archive, if it is a URL.
    fileprivate init(archive: PropertyListValue) throws {
        guard let objects = archive["$objects"]?.array, case .uid(let root) = archive["$top"]?["root"],
            let url = Self.unarchived(root, objects, depth: 0)
        else { throw CodingFailure(URL.self, found: "data that is not an archive of a URL") }
        self = url
    }

    // An archive of a relative URL contains its base, which may be relative as well.
    private static func unarchived(_ number: UInt64, _ objects: [PropertyListValue], depth: Int) -> URL? {
        guard depth < 8, let object = object(number, objects), case .uid(let relative) = object["NS.relative"],
            case .string(let text) = Self.object(relative, objects), case .uid(let base) = object["NS.base"]
        else { return nil }
        if base == 0 { return URL(string: text, encodingInvalidCharacters: false) }
        guard let base = unarchived(base, objects, depth: depth + 1) else { return nil }
        return URL(string: text, relativeTo: base)?.absoluteURL
    }

    private static func object(_ number: UInt64, _ objects: [PropertyListValue]) -> PropertyListValue? {
        Int(exactly: number).flatMap { objects.indices.contains($0) ? objects[$0] : nil }
    }
}

extension PropertyListValue {
    /// A keyed archive of a URL, as `NSKeyedArchiver` writes it.
    fileprivate static func archive(of url: URL) -> PropertyListValue {
        [
            "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": .uid(1)],
            "$objects": [
                "$null", ["NS.base": .uid(0), "NS.relative": .uid(2), "$class": .uid(3)], .string(url.absoluteString),
                ["$classname": "NSURL", "$classes": ["NSURL", "NSObject"]],
            ],
        ]
    }
}
