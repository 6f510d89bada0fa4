import Foundation
import PropertyListCoding

/// The invariants of decoding any input; also used by `Tests/Fuzzing`.
struct InputCheck {
    /// The decoded value; nil if the bytes were rejected.
    let value: PropertyListValue?
    /// The violated invariant, if any.
    let violation: String?
    /// Whether it is a dictionary whose entries can be decoded one by one.
    let isLazy: Bool

    /// Decodes some bytes and checks the invariants.
    ///
    /// - Parameter isEdited: whether a dictionary in XML or JSON is edited, too, which takes longer than the rest.
    init(_ input: Data, isEdited: Bool = true) {
        let lazy = LazyEntries(input)
        isLazy = lazy != nil
        do throws(PropertyListError) {
            let (value, format) = try PropertyListValue.decode(input)
            self.value = value
            violation =
                lazy.flatMap { Self.violation(by: $0, of: value) } ?? Self.violation(by: value)
                ?? (isEdited || format == .binary ? Self.violation(byEditing: value, in: input, as: format) : nil)
        } catch {
            value = nil
            violation = lazy == nil ? Self.violation(by: error, inputSize: input.count) : "its entries are read, but \(error)"
        }
    }

    private static func violation(by lazy: LazyEntries, of value: PropertyListValue) -> String? {
        guard case .dictionary(let entries) = value else { return "entries of what is no dictionary" }
        guard lazy.count == entries.count, Set(lazy.names) == Set(entries.keys) else { return "its entries have other names" }
        for (name, value) in entries where lazy[name] != value { return "the entry \(name) is another one" }
        guard lazy["none of them"] == entries["none of them"] else { return "an entry that it does not have" }
        guard lazy.decoded() == entries else { return "its entries are other ones" }
        return nil
    }

    private static func violation(by error: PropertyListError, inputSize: Int) -> String? {
        guard let offset = error.offset else { return "an error without an offset: \(error)" }
        guard 0...inputSize ~= offset else { return "an error outside the \(inputSize) bytes: \(error)" }
        guard (error.line == nil) == (error.column == nil), error.line ?? 1 >= 1, error.column ?? 1 >= 1 else {
            return "an error at an impossible line or column: \(error)"
        }
        return error.reason.isEmpty ? "an error without a reason, at \(offset)" : nil
    }

    private static func violation(by value: PropertyListValue) -> String? {
        do throws(PropertyListError) {
            try value.validate()
            let bytes = try value.encoded(as: .binary)
            let again = try PropertyListValue.decode(bytes).value
            guard again == value else { return "written as binary, it reads as another value" }
            guard again.hashValue == value.hashValue else { return "equal values have other hashes" }
            guard try again.encoded(as: .binary) == bytes else { return "equal values are written as other bytes" }
        } catch {
            return "what was read cannot be written as binary and read again: \(error)"
        }
        // XML and JSON represent fewer values than binary; those that they accept are read back.
        for format in [PropertyListFormat.xml, .json] {
            guard let bytes = try? value.encoded(as: format) else { continue }
            do throws(PropertyListError) {
                guard try PropertyListValue.decode(bytes) == (value.rounded(for: format), format) else {
                    return "written as \(format), it reads as another value"
                }
            } catch {
                return "what was written as \(format) cannot be read again: \(error)"
            }
        }
        return nil
    }

    /// Edits a dictionary in the bytes from which it was read, and once more in those: in binary, few of its entries.
    private static func violation(
        byEditing value: PropertyListValue, in input: Data, as format: PropertyListFormat, isAgain: Bool = false
    ) -> String? {
        guard case .dictionary(let entries) = value else { return nil }
        var edits: [String: PropertyListValue?] = ["new": isAgain ? nil : [1, ["inside": true]], "new again": isAgain ? "other" : nil]
        for (index, key) in entries.keys.sorted().prefix(format == .binary ? 7 : .max).enumerated() {
            switch entries[key] {
            case .array(let elements)?: edits[key] = .array(index % 2 == 0 ? elements.dropLast() : elements + ["last"])
            case .dictionary(var inner)? where index % 2 == 0:
                inner.keys.min().map { inner[$0] = nil }
                inner["new"] = 1
                edits[key] = .dictionary(inner)
            default: edits.updateValue(index % 3 == 0 ? nil : "edited", forKey: key)
            }
        }
        do throws(PropertyListError) {
            let existing = edits.keys.count { entries[$0] != nil }
            let edited =
                format == .binary
                ? PropertyListValue.document(input, after: edits, existing: existing)
                : try PropertyListValue.text(of: input, after: edits, of: entries)
            guard let edited else { return nil }
            let expected = edits.reduce(into: entries) { $0[$1.key] = $1.value }
            guard try PropertyListValue.decode(edited).value == .dictionary(expected) else { return "edited, it is read as another value" }
            if let changes = PropertyListValue.changes(in: edited, since: input, of: { entries[$0] }) {
                let known = changes.reduce(into: entries) { $0[$1.key] = $1.value }
                guard known == expected else { return "the changes of its edited form are other ones" }
            }
            return isAgain ? nil : violation(byEditing: .dictionary(expected), in: edited, as: format, isAgain: true)
        } catch {
            return "edited, it cannot be read: \(error)"
        }
    }
}
