/// A standard type, whose stored form is the same by itself and inside a `Codable` value, whatever its own encoding writes.
package protocol StandardStorable: Storable {}

/// A collection whose own encoding encodes each element by itself, in the structure that is also the stored form.
private protocol ElementwiseCodable {}

extension Optional: ElementwiseCodable {}
extension Array: ElementwiseCodable {}
extension Dictionary: ElementwiseCodable where Key == String {}

/// Whether a type's own stored form is used inside a `Codable` value, rather than what its encoding writes.
func usesStoredForm(_ type: Any.Type) -> Bool {
    if type is any ElementwiseCodable.Type { return false }
    if type is any StandardStorable.Type { return true }
    return type is any Storable.Type && !(type is any CodableStorable.Type)
}

/// The same for the value that is encoded as a whole.
///
/// Only standard types: the stored form of another one may be what `encode(to:)` writes.
func usesStoredForm(asWhole type: Any.Type) -> Bool {
    type is any StandardStorable.Type && !(type is any ElementwiseCodable.Type)
}

/// The key of an array's element, or of the part that a superclass encodes, or a step inside a stored form.
enum ElementKey: CodingKey {
    case index(Int)
    case superclass
    case step(String)

    var stringValue: String {
        switch self {
        case .index(let index): "\(index)"
        case .superclass: "super"
        case .step(let step): step
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }

    init?(stringValue: String) { nil }

    init?(intValue: Int) { self = .index(intValue) }
}
