import Foundation
import PropertyListCoding

/// The invariants of decoding any input; also used by `Tests/Fuzzing`.
struct InputCheck {
    /// The decoded value; nil if the bytes were rejected.
    let value: PropertyListValue?
    /// The violated invariant, if any.
    let violation: String?

    /// Decodes some bytes and checks the invariants.
    init(_ input: Data) {
        do throws(PropertyListError) {
            let value = try PropertyListValue.decode(input).value
            self.value = value
            violation = Self.violation(by: value)
        } catch {
            value = nil
            violation = Self.violation(by: error, inputSize: input.count)
        }
    }

    private static func violation(by error: PropertyListError, inputSize: Int) -> String? {
        guard let offset = error.offset else { return "an error without an offset: \(error)" }
        guard 0...inputSize ~= offset else { return "an error outside the \(inputSize) bytes: \(error)" }
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
        // XML represents fewer values than binary; those that it accepts are read back.
        guard let bytes = try? value.encoded(as: .xml) else { return nil }
        do throws(PropertyListError) {
            guard try PropertyListValue.decode(bytes).value == value.rounded(for: .xml) else {
                return "written as XML, it reads as another value"
            }
            return nil
        } catch {
            return "what was written as XML cannot be read again: \(error)"
        }
    }
}
