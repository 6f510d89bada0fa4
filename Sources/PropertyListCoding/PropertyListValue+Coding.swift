public import FoundationSubset

/// A format in which to write a property list as bytes.
public enum PropertyListFormat: String, Sendable, Hashable, CaseIterable {
    /// `bplist00`: compact and lossless.
    case binary
    /// Apple's XML: readable, but dates are truncated to whole seconds and text cannot contain control characters.
    case xml
    /// JSON, read with comments and trailing commas: it has no form for dates, data, uids, NaN and infinity.
    case json
}

extension PropertyListValue {
    /// Reads a binary, XML or JSON property list, as determined from the bytes.
    ///
    /// Takes linear time and memory for any input. If Foundation reads a dictionary from the bytes, this method reads the same one or
    /// throws. If a key is repeated, the later entry is used in XML; binary and JSON are rejected.
    ///
    /// JSON begins with an object or an array. Comments (`//` and `/* */`) and a comma after the last element are skipped. A number
    /// without a fraction and an exponent is an integer, and an error if 64 bits cannot represent it; any other is a real. A member that
    /// is null is no entry, and null in an array is an error.
    ///
    /// - Throws: ``PropertyListError`` with the offset and the reason.
    public static func decode(_ data: Data) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        try data.withBytes { (buffer) throws(PropertyListError) in try decode(buffer) }
    }

    /// Reads the property list in a buffer; see ``decode(_:)``.
    package static func decode(
        _ buffer: UnsafeRawBufferPointer
    ) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        guard let bytes = ByteView(buffer) else { throw PropertyListError(offset: 0, reason: "there are no bytes") }
        // Foundation reads any last digit of the version; only `bplist00` and `bplist01` are known to exist.
        if bytes.has("bplist0", at: 0) {
            var reader = try BinaryReader(bytes)
            return (try reader.read(), .binary)
        }
        if bytes.has("bplist", at: 0) {
            throw PropertyListError(offset: 6, reason: "a binary property list of a version other than 0")
        }
        return try TextDocument.read(bytes)
    }

    /// The differences between the entries of a binary property list and those of an earlier version: the value of each entry that was set,
    /// nil for one that was removed.
    ///
    /// Decodes little more than the changed entries. Returns nil if they cannot be determined: then ``decode(_:)`` can, or throws the
    /// error.
    ///
    /// - Parameters:
    ///   - data: bytes of the property list.
    ///   - earlier: bytes that ``decode(_:)`` has accepted.
    ///   - entries: the entries that it read from them, by name.
    package static func changes(
        in data: Data, since earlier: Data, of entries: (String) -> PropertyListValue?
    ) -> [String: PropertyListValue?]? {
        data.withUnsafeBytes { buffer in
            earlier.withUnsafeBytes { earlierBuffer in
                guard let bytes = ByteView(buffer), let earlierBytes = ByteView(earlierBuffer) else { return nil }
                guard bytes.has("bplist0", at: 0), earlierBytes.has("bplist0", at: 0) else { return nil }
                do throws(PropertyListError) {
                    var reader = try BinaryReader(bytes)
                    return try reader.changes(since: try BinaryReader(earlierBytes), of: entries)
                } catch {
                    // Reading the whole property list throws the same error, or an earlier one.
                    return nil
                }
            }
        }
    }

    /// Writes the value as a property list; equal values are written as the same bytes.
    ///
    /// - Throws: ``PropertyListError`` if the format cannot represent the value.
    public func encoded(as format: PropertyListFormat) throws(PropertyListError) -> Data {
        switch format {
        case .binary: try BinaryWriter.write(self)
        case .xml: try XMLWriter.write(self)
        case .json: try JSONWriter.write(self)
        }
    }

    /// Writes a dictionary with edits, of which nil removes an entry; in binary without copying it.
    ///
    /// If an XML or JSON property list is edited, all bytes remain as they are except those of changed elements:
    /// - A changed value replaces its element. In a dictionary that replaces another one only the changed entries are replaced, and in an
    ///   array the changed elements, provided that elements were added or removed only at its end.
    /// - A removed entry is removed with everything between its key and its value, in JSON with its comma, and with its lines if they
    ///   contain nothing else. A comment before the key or after the value remains.
    /// - A new entry is added at the end of its dictionary, with the indentation and line endings of the others, in JSON with the spaces
    ///   around their colons and a comma after the last one if there was one.
    ///
    /// It is rewritten if its encoding is not UTF-8 or ASCII, if a key is repeated in a changed dictionary, if a nested key is replaced by
    /// the same one in another Unicode normalization, or if ASCII cannot represent a new text.
    ///
    /// - Parameter document: the property list of the same format that is edited; the entries must be those that ``decode(_:)`` has read
    ///   from it.
    package static func encode(
        _ entries: [String: PropertyListValue], with edits: [String: PropertyListValue?], as format: PropertyListFormat,
        editing document: Data? = nil
    ) throws(PropertyListError) -> Data {
        guard format != .binary else { return try BinaryWriter.write(.dictionary(entries), with: edits) }
        let edits = edits.mapValues { $0?.rounded(for: format) }
        let edited = PropertyListValue.dictionary(edits.reduce(into: entries) { $0[$1.key] = $1.value })
        if let document {
            do throws(PropertyListError) {
                // The comparison takes longer than the edit itself, but guards files against defects of the editor.
                if let text = try text(of: document, after: edits, of: entries), try decode(text) == (edited, format) { return text }
            } catch {
                // Rewriting it throws the same error if a new value is the reason.
            }
        }
        return try edited.encoded(as: format)
    }

    /// The binary property list after edits of the entries of its root; nil if it has to be written anew.
    ///
    /// It has the values that ``encode(_:with:as:editing:)`` writes, with the keys in the same order, but the objects may be in another one,
    /// and equal leaves may occur more than once.
    ///
    /// - Parameters:
    ///   - document: a binary property list that ``decode(_:)`` has accepted. Only one whose keys are sorted can be edited.
    ///   - existing: how many of the edited entries it has.
    package static func document(_ document: Data, after edits: [String: PropertyListValue?], existing: Int) -> Data? {
        BinaryEditor.edit(document, edits, existing: existing)
    }

    /// The text of an XML or JSON property list after edits, as ``encode(_:with:as:editing:)`` writes it if it is read as the edited entries; nil
    /// if it has to be rewritten.
    package static func text(
        of document: Data, after edits: [String: PropertyListValue?], of entries: [String: PropertyListValue]
    ) throws(PropertyListError) -> Data? {
        try document.withBytes { (buffer) throws(PropertyListError) in
            guard let bytes = ByteView(buffer) else { return nil }
            return try TextDocument.text(of: bytes, after: edits, of: entries)
        }
    }
}
