import Foundation

/// Human-readable numbers.
enum Figures {
    /// A time in a suitable unit, with three digits.
    static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: digits(nanoseconds) + " ns"
        case ..<1e6: digits(nanoseconds / 1e3) + " µs"
        case ..<1e9: digits(nanoseconds / 1e6) + " ms"
        default: digits(nanoseconds / 1e9) + " s"
        }
    }

    /// A power of ten of nanoseconds, without trailing digits.
    static func roundTime(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: "\(Int(nanoseconds.rounded())) ns"
        case ..<1e6: "\(Int((nanoseconds / 1e3).rounded())) µs"
        case ..<1e9: "\(Int((nanoseconds / 1e6).rounded())) ms"
        default: "\(Int((nanoseconds / 1e9).rounded())) s"
        }
    }

    /// A ratio with three digits; a small one as a fraction.
    static func ratio(_ ratio: Double) -> String {
        ratio < 0.2 ? "1/" + digits(1 / ratio) : digits(ratio) + " x"
    }

    /// A goal as it was declared, as a fraction if it is one.
    static func goal(_ goal: Double) -> String {
        goal < 0.2 ? "1/\(Int((1 / goal).rounded()))" : String(format: "%g x", goal)
    }

    private static func digits(_ number: Double) -> String {
        switch number {
        case ..<0.1: String(format: "%.4f", number)
        case ..<1: String(format: "%.3f", number)
        case ..<10: String(format: "%.2f", number)
        case ..<100: String(format: "%.1f", number)
        default: String(format: "%.0f", number)
        }
    }
}
