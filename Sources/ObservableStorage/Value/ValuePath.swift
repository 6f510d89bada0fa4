/// The way from a stored value to one inside it.
struct ValuePath: Sendable, Hashable {
    /// From the outside in.
    var steps: [Component] = []

    enum Component: Sendable, Hashable {
        case index(Int)
        case name(String)
    }
}

extension ValuePath: CustomStringConvertible {
    /// `[2].port`, as it stands behind a key.
    var description: String {
        steps.map(\.description).joined()
    }
}

extension ValuePath.Component: CustomStringConvertible {
    var description: String {
        switch self {
        case .index(let index): "[\(index)]"
        case .name(let name): name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !name.isEmpty ? ".\(name)" : "[\"\(name)\"]"
        }
    }
}
