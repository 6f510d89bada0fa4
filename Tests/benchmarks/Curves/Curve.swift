/// How the cost of one operation grows along one axis.
struct Curve: Sendable {
    let axis: CurveAxis
    let operation: CurveOperation
    let growth: CurveGrowth
    /// Creates the work for one point of the axis.
    let prepare: @Sendable (Place, Int) async throws -> CurveWork

    init(
        _ axis: CurveAxis, _ operation: CurveOperation, _ growth: CurveGrowth,
        prepare: @escaping @Sendable (Place, Int) async throws -> CurveWork
    ) {
        self.axis = axis
        self.operation = operation
        self.growth = growth
        self.prepare = prepare
    }

    /// The name that selects it.
    var name: String {
        "\(axis.rawValue).\(operation.rawValue)"
    }
}
