public import Foundation
import PropertyListCoding

extension StorageCodec where Value: Codable {
    /// JSON as data, with keys in order, so that equal values are stored alike.
    public static var json: StorageCodec {
        json()
    }

    /// JSON as data; text is read too.
    ///
    /// - Parameters:
    ///   - encoder: by default one that writes keys in order, so that equal values are stored alike.
    ///   - decoder: reads what the encoder wrote.
    public static func json(encoder: JSONEncoder? = nil, decoder: JSONDecoder = JSONDecoder()) -> StorageCodec {
        let encoder = encoder ?? .sorted
        return StorageCodec(
            encode: { .data(try encoder.encode($0)) },
            decode: { stored in
                switch stored {
                case .data(let data): try decoder.decode(Value.self, from: data)
                case .string(let text): try decoder.decode(Value.self, from: Data(text.utf8))
                default: throw DecodingMismatch(Value.self, stored)
                }
            })
    }

    /// The value as a property list of its own, which `prefs` and `plutil` show and edit.
    public static var propertyList: StorageCodec {
        StorageCodec(
            encode: { value in
                // An encoder takes no lone numbers or strings: they travel in an array.
                let encoder = PropertyListEncoder()
                encoder.outputFormat = .binary
                guard case .array(let array) = try PropertyListValue.decode(encoder.encode([value])).value, array.count == 1 else {
                    throw EncodingRefusal("its encoder wrote nothing")
                }
                return array[0]
            },
            decode: { stored in
                let data = try PropertyListValue.array([stored]).encoded(as: .binary)
                return try PropertyListDecoder().decode([Value].self, from: data)[0]
            })
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
