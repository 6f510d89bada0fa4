/// Prevents the optimizer from removing the computation of a value.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: borrowing Value) {}
