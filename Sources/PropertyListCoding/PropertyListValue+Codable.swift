import FoundationSubset

extension PropertyListValue: Codable {
    /// Encodes the value with any encoder: dates and data as that encoder writes them.
    ///
    /// `PropertyListEncoder` writes the same property list. A uid is a dictionary of the one key `CF$UID`, as in XML.
    ///
    /// - Throws: `EncodingError` if arrays and dictionaries are nested more than 512 deep, or if a dictionary would be read as a uid.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let string): try container.encode(string)
        case .integer(let integer):
            if let number = integer.value(as: Int64.self) {
                try container.encode(number)
            } else {
                try container.encode(integer.bits)
            }
        case .real(let real): try container.encode(real)
        case .boolean(let boolean): try container.encode(boolean)
        case .date(let date): try container.encode(date)
        case .data(let data): try container.encode(data)
        case .array(let elements):
            try checkDepth(in: encoder)
            try container.encode(elements)
        case .dictionary(let entries):
            try checkDepth(in: encoder)
            guard entries.uid == nil else {
                throw invalid("a dictionary of the one key CF$UID cannot be told from a uid", in: encoder)
            }
            // In a keyed container, the encoder's strategy would change the keys.
            try container.encode(entries)
        case .uid(let uid): try container.encode([[String: PropertyListValue].uidKey: uid])
        }
    }

    /// Decodes a value with any decoder.
    ///
    /// A value gets the type that the decoder can distinguish: `PropertyListDecoder` and `JSONDecoder` read a real without a fraction as an
    /// integer, and JSON's dates and data are read as the numbers and strings that the encoder has written for them.
    ///
    /// - Throws: `DecodingError` if there is a null (`PropertyListDecoder` treats the string `$null` as one), if arrays and dictionaries
    ///   are nested more than 512 deep, or if the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The only way to find the type is to try each one. Arrays precede data and numbers precede dates, because a decoder's strategies
        // can make data of arrays and dates of numbers.
        if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if container.decodeNil() {
            throw DecodingError.valueNotFound(Self.self, Self.context("a property list cannot hold null", in: decoder))
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(PropertyListInteger(number))
        } else if let number = try? container.decode(UInt64.self) {
            self = .integer(PropertyListInteger(number))
        } else if let real = try? container.decode(Double.self) {
            self = .real(real)
        } else if decoder.codingPath.count >= DecodingLimits.depth {
            throw DecodingError.dataCorrupted(Self.context(PropertyListError.tooDeep(at: nil).reason, in: decoder))
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try container.decode([PropertyListValue].self))
        } else if let date = try? container.decode(Date.self) {
            self = .date(date)
        } else if let data = try? container.decode(Data.self) {
            self = .data(data)
        } else {
            let entries = try container.decode([String: PropertyListValue].self)
            self = entries.uid.map { .uid($0) } ?? .dictionary(entries)
        }
    }

    private static func context(_ reason: String, in decoder: any Decoder) -> DecodingError.Context {
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: reason)
    }

    private func checkDepth(in encoder: any Encoder) throws {
        guard encoder.codingPath.count < DecodingLimits.depth else { throw invalid(PropertyListError.tooDeep(at: nil).reason, in: encoder) }
    }

    private func invalid(_ reason: String, in encoder: any Encoder) -> EncodingError {
        .invalidValue(self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: reason))
    }
}
