/// Tells whether a value of a type known only at run time is nil.
protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    /// Whether nothing is wrapped, at any depth.
    var isNil: Bool {
        switch self {
        case .none: true
        case .some(let wrapped as any OptionalValue): wrapped.isNil
        case .some: false
        }
    }
}
