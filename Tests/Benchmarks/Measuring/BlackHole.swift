/// Uses a value as far as the optimizer can tell, so that making it is not left out.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: borrowing Value) {}
