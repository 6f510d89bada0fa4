/// Which scene a property belongs to, and the value written before there was one: a state machine.
///
/// A value written before there is a scene waits for one, and hides what is stored until it has been set there. Later values never wait:
/// an object that leaves its scene keeps using it until it is in another.
struct SceneProperty<Scene: Sendable, Value: Sendable>: Sendable {
    /// A value that waits for a scene; the number distinguishes it from one written later.
    typealias Waiting = (value: Value, number: UInt64)

    enum Access {
        /// The value is the one stored in the scene, or in the application if there is no scene yet.
        case stored
        /// The value is this one, which waits, or is being set by another call.
        case waiting(Value)
        /// The caller sets this value in the scene, passes its number to ``SceneProperty/moved(_:)``, and accesses the property again.
        case move(Waiting)
    }

    /// The present or last scene; nil before there is one.
    private(set) var scene: Scene?
    private var waiting: Waiting?
    private var isMoving = false
    private var count: UInt64 = 0

    var unsaved: Value? { waiting?.value }

    /// Records the present scene.
    ///
    /// - Returns: the previous scene, to be released outside of a lock.
    mutating func enter(_ present: Scene) -> Scene? {
        defer { scene = present }
        return scene
    }

    /// Starts an access to the value, after the scene was recorded.
    mutating func access() -> Access {
        guard let waiting else { return .stored }
        // One call moves values at a time, so that a later one is never overwritten by an earlier one.
        guard scene != nil, !isMoving else { return .waiting(waiting.value) }
        isMoving = true
        return .move(waiting)
    }

    /// Ends setting a value in the scene; the value waits no longer, unless it was replaced meanwhile.
    ///
    /// - Returns: the value, to be released outside of a lock.
    mutating func moved(_ number: UInt64) -> Value? {
        isMoving = false
        guard let waiting, waiting.number == number else { return nil }
        self.waiting = nil
        return waiting.value
    }

    /// Keeps a written value if it has to wait; otherwise the caller sets it in the scene.
    ///
    /// - Returns: whether the value is kept, and the value that it replaces, to be released outside of a lock.
    mutating func keep(_ value: Value) -> (isKept: Bool, replaced: Value?) {
        guard scene == nil || waiting != nil else { return (false, nil) }
        defer {
            count += 1
            waiting = (value, count)
        }
        return (true, waiting?.value)
    }
}
