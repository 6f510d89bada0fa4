import Foundation

/// Elements of pictures, as text that ends with a line feed.
enum SVG {
    /// A complete file.
    static func picture(_ title: String, width: Double, height: Double, _ elements: String) -> String {
        let (width, height) = (number(width), number(height))
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" role="img">
            <title>\(title)</title>
            <style>\(style)</style>
            <rect class="paper" width="\(width)" height="\(height)"/>
            \(elements)</svg>

            """
    }

    static func text(_ kind: String, _ x: Double, _ y: Double, _ content: String) -> String {
        let escaped = content.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        return "<text class=\"\(kind)\" x=\"\(number(x))\" y=\"\(number(y))\">\(escaped)</text>\n"
    }

    static func line(_ kind: String, x: (Double, Double), y: (Double, Double)) -> String {
        "<line class=\"\(kind)\" x1=\"\(number(x.0))\" x2=\"\(number(x.1))\" y1=\"\(number(y.0))\" y2=\"\(number(y.1))\"/>\n"
    }

    static func circle(_ kind: String, _ x: Double, _ y: Double, radius: Double) -> String {
        "<circle class=\"\(kind)\" cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"\(number(radius))\"/>\n"
    }

    /// A coordinate, rounded to a tenth.
    static func number(_ number: Double) -> String {
        let rounded = (number * 10).rounded() / 10
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }

    // Colors of medium brightness, visible on light and dark backgrounds.
    private static let style = """
        text { font: 12px system-ui, "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #555 }
        .paper { fill: #fff }
        .heading, .work { fill: #222 }
        .heading { font-size: 14px; font-weight: 600 }
        .work, .ratio { font-size: 13px }
        .ratio { font-weight: 600; fill: #2878d0 }
        .axis { text-anchor: middle }
        .time { text-anchor: end }
        .grid { stroke: #e4e4e4 }
        .gap { stroke: #aaa; stroke-width: 2 }
        .here { fill: #2878d0 }
        .there { fill: #d06a10 }
        .read { stroke: #2878d0; fill: #2878d0 }
        .write { stroke: #d06a10; fill: #d06a10 }
        .deliver { stroke: #23965a; fill: #23965a }
        .readers { stroke: #8a8a1c; fill: #8a8a1c }
        .external { stroke: #1a94a6; fill: #1a94a6 }
        .commit { stroke: #d0437c; fill: #d0437c }
        .open { stroke: #8c62d0; fill: #8c62d0 }
        .label { stroke: none }
        .line { fill: none; stroke-width: 2; stroke-linejoin: round }
        @media (prefers-color-scheme: dark) {
        text { fill: #aaa }
        .paper { fill: #1c1c1e }
        .heading, .work { fill: #eee }
        .grid { stroke: #38383a }
        .ratio, .here { fill: #5aa0e8 }
        .there { fill: #e08a3c }
        }
        """
}

/// Places numbers on a logarithmic axis.
struct LogScale {
    /// The numbers at both ends.
    let domain: ClosedRange<Double>
    /// The coordinates of the ends; the second one can be the smaller.
    let start: Double
    let end: Double

    /// The coordinate of a number.
    func position(_ number: Double) -> Double {
        start + log(number / domain.lowerBound) / log(domain.upperBound / domain.lowerBound) * (end - start)
    }

    /// The powers of ten on the axis, and their texts as times.
    var decades: [(time: Double, text: String)] {
        let exponents = Int(log10(domain.lowerBound).rounded(.up))...Int(log10(domain.upperBound).rounded(.down))
        return exponents.map { exponent in
            let time = pow(10, Double(exponent))
            return (time, Figures.time(time).replacingOccurrences(of: #"\.0+ "#, with: " ", options: .regularExpression))
        }
    }

    /// The smallest range between powers of ten that contains all the numbers.
    static func decades(around numbers: [Double]) -> ClosedRange<Double> {
        guard let least = numbers.min(), let most = numbers.max(), least > 0 else { return 1...10 }
        let lower = log10(least).rounded(.down)
        return pow(10, lower)...pow(10, max(log10(most).rounded(.up), lower + 1))
    }
}
