import Foundation

/// Places numbers on a logarithmic axis.
struct LogScale {
    /// The numbers at both ends.
    let domain: ClosedRange<Double>
    /// The coordinates of the ends; the second one can be the smaller.
    let start: Double
    let end: Double

    /// The coordinate of a number.
    func position(_ number: Double) -> Double {
        let part = log(number / domain.lowerBound) / log(domain.upperBound / domain.lowerBound)
        return start + part * (end - start)
    }

    /// The powers of ten on the axis.
    var decades: [Double] {
        let exponents = Int(log10(domain.lowerBound).rounded(.up))...Int(log10(domain.upperBound).rounded(.down))
        return exponents.map { pow(10, Double($0)) }
    }

    /// The smallest range between powers of ten that contains all the numbers.
    static func decades(around numbers: [Double]) -> ClosedRange<Double> {
        guard let least = numbers.min(), let most = numbers.max(), least > 0 else { return 1...10 }
        let lower = log10(least).rounded(.down)
        return pow(10, lower)...pow(10, max(log10(most).rounded(.up), lower + 1))
    }
}
