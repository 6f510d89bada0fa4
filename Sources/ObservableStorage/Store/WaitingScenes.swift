/// Objects that are used on the main actor only, as those of UIKit and AppKit, so that a notification can look for their scenes there.
protocol MainActorObject: AnyObject {}

/// The properties with values that are set in a scene as soon as a notification shows that their object may have one.
final class WaitingScenes: Sendable {
    /// Sets the value of a property if its object has a scene; returns whether it still waits.
    ///
    /// Sendable because it is only called on the main actor, to which the object belongs.
    private struct Attempt: @unchecked Sendable {
        let make: () -> Bool
    }

    static let all = WaitingScenes()

    // By the property.
    private let attempts = Lock<[ObjectIdentifier: Attempt]>([:])

    /// Adds a property of a ``MainActorObject`` whose value waits.
    ///
    /// - Parameter attempt: sets the value if the object has a scene now; returns whether it still waits. Called on the main actor.
    func add(_ property: AnyObject, _ attempt: @escaping () -> Bool) {
        let attempt = Attempt(make: attempt)
        attempts.take { $0.updateValue(attempt, forKey: ObjectIdentifier(property)) }
    }

    func remove(_ property: AnyObject) {
        attempts.take { $0.removeValue(forKey: ObjectIdentifier(property)) }
    }

    /// Sets the values of the objects that have a scene now. Does nothing off the main actor.
    func settle() {
        guard MainActor.isCurrent else { return }
        for (property, attempt) in attempts.withLock({ $0 }) where !attempt.make() {
            attempts.take { $0.removeValue(forKey: property) }
        }
    }
}
