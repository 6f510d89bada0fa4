/// The curves in the order in which they are printed.
enum CurveTable {
    static let curves = KeyCurves.curves + SubscriberCurves.curves + ProcessCurves.curves + SizeCurves.curves
}
