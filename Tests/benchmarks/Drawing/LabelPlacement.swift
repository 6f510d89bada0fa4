/// Separates overlapping labels.
enum LabelPlacement {
    /// The nearest positions to the desired ones, in the same order, at least `gap` apart and inside a range if it is large enough.
    static func spread(_ wanted: [Double], gap: Double, within range: ClosedRange<Double>) -> [Double] {
        let order = wanted.indices.sorted { wanted[$0] < wanted[$1] }
        var places = wanted
        var least = range.lowerBound
        for index in order {
            places[index] = max(wanted[index], least)
            least = places[index] + gap
        }
        var most = range.upperBound
        for index in order.reversed() {
            places[index] = min(places[index], most)
            most = places[index] - gap
        }
        return places
    }
}
