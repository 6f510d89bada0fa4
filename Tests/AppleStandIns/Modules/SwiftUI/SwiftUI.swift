// A stand-in for Apple's SwiftUI: it draws nothing. `State`, `Bindable` and `Binding` hold and pass on values; `Environment` has the
// default values, as outside a view.
@_exported import Combine
@_exported import Foundation
@_exported import Observation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
extension Never: Scene {}
public struct EmptyView: View { nonisolated public init() {}; public var body: Never { fatalError() } }
public struct TupleView<T>: View { public var body: Never { fatalError() } }
extension Optional: View where Wrapped: View { public var body: Never { fatalError() } }
@resultBuilder public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<C: View>(_ c: C) -> C { c }
    public static func buildBlock<each C: View>(_ c: repeat each C) -> TupleView<(repeat each C)> { fatalError() }
    public static func buildIf<C: View>(_ c: C?) -> C? { c }
    public static func buildEither<C: View>(first: C) -> C { first }
    public static func buildEither<C: View>(second: C) -> C { second }
}
public protocol DynamicProperty { mutating func update() }
extension DynamicProperty { public mutating func update() {} }

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public var wrappedValue: Value {
        get { getter() }
        nonmutating set { setter(newValue, transaction) }
    }
    public var projectedValue: Binding<Value> { self }
    public var transaction = Transaction()
    private let getter: () -> Value
    private let setter: (Value, Transaction) -> Void
    fileprivate init(getter: @escaping () -> Value, setter: @escaping (Value) -> Void) {
        self.getter = getter
        self.setter = { value, _ in setter(value) }
    }
    @preconcurrency public init(
        get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {
        fatalError()
    }
    @preconcurrency public init(
        get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value, Transaction) -> Void
    ) { fatalError() }
    public static func constant(_ value: Value) -> Binding<Value> { Binding(getter: { value }, setter: { _ in }) }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        Binding<Subject>(getter: { getter()[keyPath: keyPath] }, setter: { wrappedValue[keyPath: keyPath] = $0 })
    }
    public func animation(_ animation: Animation? = .default) -> Binding<Value> { self }
}
extension Binding: @unchecked Sendable where Value: Sendable {}
public struct Animation: Sendable { public static let `default` = Animation() }
public struct Transaction {
    public init() {}
    public init(animation: Animation?) {}
    public var animation: Animation?
}
public func withTransaction<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows -> Result { try body() }
public func withAnimation<Result>(_ animation: Animation? = .default, _ body: () throws -> Result) rethrows -> Result { try body() }

private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}
@propertyWrapper public struct State<Value>: DynamicProperty {
    private let box: Box<Value>
    public init(wrappedValue: Value) { box = Box(wrappedValue) }
    public init(initialValue: Value) { box = Box(initialValue) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
    public var projectedValue: Binding<Value> { Binding(getter: { box.value }, setter: { box.value = $0 }) }
}
extension State: @unchecked Sendable where Value: Sendable {}
@propertyWrapper public struct SceneStorage<Value>: DynamicProperty {
    private let box: Box<Value>
    public init(wrappedValue: Value, _ key: String) where Value == String { box = Box(wrappedValue) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
    public var projectedValue: Binding<Value> { Binding(getter: { box.value }, setter: { box.value = $0 }) }
}
@MainActor @preconcurrency @propertyWrapper public struct ObservedObject<ObjectType: ObservableObject>: DynamicProperty {
    @dynamicMemberLookup @MainActor @preconcurrency public struct Wrapper {
        public subscript<S>(dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, S>) -> Binding<S> { fatalError() }
    }
    public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }
    public init(initialValue: ObjectType) { self.wrappedValue = initialValue }
    public var wrappedValue: ObjectType
    public var projectedValue: Wrapper { fatalError() }
}
@MainActor @preconcurrency @propertyWrapper public struct StateObject<ObjectType: ObservableObject>: DynamicProperty {
    nonisolated public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) {}
    public var wrappedValue: ObjectType { fatalError() }
    public var projectedValue: ObservedObject<ObjectType>.Wrapper { fatalError() }
}
@dynamicMemberLookup @propertyWrapper public struct Bindable<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) where Value: AnyObject & Observable { self.wrappedValue = wrappedValue }
    public var projectedValue: Bindable<Value> { self }
    public init(_ wrappedValue: Value) where Value: AnyObject & Observable { self.wrappedValue = wrappedValue }
    public subscript<S>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, S>) -> Binding<S> where Value: AnyObject {
        Binding(getter: { wrappedValue[keyPath: keyPath] }, setter: { wrappedValue[keyPath: keyPath] = $0 })
    }
}
public protocol EnvironmentKey {
    associatedtype Value
    static var defaultValue: Value { get }
}
public enum ScenePhase: Comparable, Sendable { case background, inactive, active }
public struct EnvironmentValues {
    public init() {}
    private var values: [ObjectIdentifier: Any] = [:]
    public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
        get { values[ObjectIdentifier(key)] as? K.Value ?? K.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }
    public var scenePhase: ScenePhase {
        get { .active }
        set {}
    }
}
@propertyWrapper public struct Environment<Value>: DynamicProperty {
    private let read: () -> Value
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { read = { EnvironmentValues()[keyPath: keyPath] } }
    public init(_ objectType: Value.Type) where Value: AnyObject & Observable { read = { fatalError() } }
    public var wrappedValue: Value { read() }
}

public protocol Scene { associatedtype Body;  }
@resultBuilder public enum SceneBuilder { public static func buildBlock<C: Scene>(_ c: C) -> C { c } }
public struct WindowGroup<Content: View>: Scene {
    public typealias Body = Never
    public init(@ViewBuilder content: () -> Content) {}
}
@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}
extension App { public static func main() {} }

public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation {
    public init(_ value: String) {}
    public init(stringLiteral value: String) {}
}
public struct Text: View {
    @_disfavoredOverload nonisolated public init<S: StringProtocol>(_ content: S) {}
    nonisolated public init(
        _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil, comment: StaticString? = nil
    ) {}
    nonisolated public init(verbatim content: String) {}
    public var body: Never { fatalError() }
}
public struct VStack<Content: View>: View {
    public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct HStack<Content: View>: View {
    public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct Form<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct Button<Label: View>: View {
    @preconcurrency public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) where Label == Text {}
    @preconcurrency public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
    public var body: Never { fatalError() }
}
public struct Toggle<Label: View>: View {
    public init(isOn: Binding<Bool>, @ViewBuilder label: () -> Label) {}
    public init(_ title: some StringProtocol, isOn: Binding<Bool>) where Label == Text {}
    public var body: Never { fatalError() }
}
public struct TextField<Label: View>: View {
    public init(_ title: some StringProtocol, text: Binding<String>) where Label == Text {}
    public var body: Never { fatalError() }
}
#if !OS_tvOS
    public struct Slider<Label: View>: View {
        public init(value: Binding<Double>, in bounds: ClosedRange<Double> = 0...1) where Label == EmptyView {}
        public var body: Never { fatalError() }
    }
    public struct Stepper<Label: View>: View {
        public init(_ title: some StringProtocol, value: Binding<Int>) where Label == Text {}
        public var body: Never { fatalError() }
    }
#endif
#if !OS_tvOS && !OS_watchOS
    public struct ColorPicker<Label: View>: View {
        public init(_ titleKey: LocalizedStringKey, selection: Binding<Color>, supportsOpacity: Bool = true) where Label == Text {}
        public var body: Never { fatalError() }
    }
#endif
public struct Color: Hashable, Sendable {
    public enum RGBColorSpace: Hashable, Sendable { case sRGB, sRGBLinear, displayP3 }
    public struct Resolved: Hashable, Sendable {
        public var red: Float
        public var green: Float
        public var blue: Float
        public var opacity: Float
    }
    private let resolved: Resolved
    public init(_ colorSpace: RGBColorSpace = .sRGB, red: Double, green: Double, blue: Double, opacity: Double = 1) {
        resolved = Resolved(red: Float(red), green: Float(green), blue: Float(blue), opacity: Float(opacity))
    }
    public func resolve(in environment: EnvironmentValues) -> Resolved { resolved }
    public static let accentColor = Color(red: 0, green: 0.5, blue: 1)
}
extension Color: View { public var body: Never { fatalError() } }
@MainActor @preconcurrency public protocol PreviewProvider {
    associatedtype Previews: View
    @ViewBuilder static var previews: Self.Previews { get }
}
extension View {
    nonisolated public func transformEnvironment<V>(
        _ keyPath: WritableKeyPath<EnvironmentValues, V>, transform: @escaping (inout V) -> Void
    ) -> some View { self }
    @preconcurrency nonisolated public func task(
        priority: TaskPriority = .userInitiated, _ action: @escaping @isolated(any) @Sendable () async -> Void
    ) -> some View { self }
    nonisolated public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void) -> some View {
        self
    }
    nonisolated public func onAppear(perform action: (() -> Void)? = nil) -> some View { self }
    nonisolated public func onReceive<P: Publisher>(_ publisher: P, perform action: @escaping (P.Output) -> Void) -> some View
    where P.Failure == Never { self }
    nonisolated public func environment<V>(_ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V) -> some View { self }
    nonisolated public func environment<T: AnyObject & Observable>(_ object: T?) -> some View { self }
    nonisolated public func padding(_ length: Double? = nil) -> some View { self }
}
