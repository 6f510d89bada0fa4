public import FoundationSubset
import PropertyListCoding

// Text for values that JSON has no form for.

extension StorageCodec<Date> {
    /// The date as ISO 8601 text in UTC, such as `2026-11-20T10:00:00.25Z`, for a JSON file, and for people who edit one.
    ///
    /// The text is read with `Z` or an offset; a stored date is decoded as well.
    public static var iso8601: StorageCodec {
        .custom(
            encode: { .string($0.iso8601) },
            decode: { stored in try stored.date ?? stored.parsed { Date(iso8601: $0) } })
    }
}

extension StorageCodec<Data> {
    /// The bytes as base64 text, for a JSON file; stored data is decoded as well.
    ///
    /// Any codec that stores data becomes one for JSON files with `.then(.base64)`.
    public static var base64: StorageCodec {
        .custom(
            encode: { .string($0.base64EncodedString()) },
            decode: { stored in try stored.data ?? stored.parsed { Data(base64Encoded: $0) } })
    }
}
