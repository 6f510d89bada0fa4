import Foundation

/// Places numbers on a logarithmic axis.
struct LogScale {
    /// The numbers at both ends.
    let domain: ClosedRange<Double>
    /// Where these stand; the second one may be the smaller.
    let start: Double
    let end: Double

    /// Where a number stands.
    func position(_ number: Double) -> Double {
        let part = log(number / domain.lowerBound) / log(domain.upperBound / domain.lowerBound)
        return start + part * (end - start)
    }

    /// The powers of ten on the axis.
    var decades: [Double] {
        let exponents = Int(log10(domain.lowerBound).rounded(.up))...Int(log10(domain.upperBound).rounded(.down))
        return exponents.map { pow(10, Double($0)) }
    }

    /// The smallest range from power of ten to power of ten that has all the numbers in it.
    static func decades(around numbers: [Double]) -> ClosedRange<Double> {
        guard let least = numbers.min(), let most = numbers.max(), least > 0 else { return 1...10 }
        let lower = log10(least).rounded(.down)
        return pow(10, lower)...pow(10, max(log10(most).rounded(.up), lower + 1))
    }
}
