/// Objects that are used on the main actor only, as those of UIKit and AppKit, so that a notification can look for their scenes there.
protocol MainActorObject: AnyObject {}

/// The properties with values that are set in a scene as soon as a notification shows that their object may have one.
final class WaitingScenes: Sendable {
    static let all = WaitingScenes()

    // By the property.
    private let attempts = Lock<[ObjectIdentifier: @Sendable () -> Bool]>([:])

    /// Adds a property of a ``MainActorObject`` whose value waits.
    ///
    /// - Parameter attempt: sets the value if the object has a scene now; returns whether it still waits. Called on the main actor.
    func add(_ property: AnyObject, _ attempt: @escaping () -> Bool) {
        // The object is used on the main actor only, where this is called.
        nonisolated(unsafe) let attempt = attempt
        attempts.take { $0.updateValue({ attempt() }, forKey: ObjectIdentifier(property)) }
    }

    func remove(_ property: AnyObject) {
        attempts.take { $0.removeValue(forKey: ObjectIdentifier(property)) }
    }

    /// Sets the values of the objects that have a scene now. Does nothing off the main actor.
    func settle() {
        guard MainActor.isCurrent else { return }
        for (property, attempt) in attempts.withLock({ $0 }) where !attempt() {
            attempts.take { $0.removeValue(forKey: property) }
        }
    }
}
