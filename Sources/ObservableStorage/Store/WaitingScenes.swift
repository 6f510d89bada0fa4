/// Objects that are used on the main actor only, as those of UIKit and AppKit are, so that notifications may look for their scenes there.
protocol MainActorObject: AnyObject {}

/// The properties whose values wait for a scene, and are set there as soon as a notification tells that there may be one: no access to them
/// need follow.
final class WaitingScenes: Sendable {
    /// An attempt to set the value of a property in the scene of its object; returns whether it still waits.
    ///
    /// Sendable because it is only called on the main actor, to which the object belongs.
    private struct Attempt: @unchecked Sendable {
        let make: () -> Bool
    }

    /// Those of the process.
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

    /// Removes a property that ends.
    func remove(_ property: AnyObject) {
        attempts.take { $0.removeValue(forKey: ObjectIdentifier(property)) }
    }

    /// Sets the values of the objects that have a scene now. Does nothing off the main actor.
    func settle() {
        guard MainActorQueue.isCurrent else { return }
        for (property, attempt) in attempts.withLock({ $0 }) where !attempt.make() {
            attempts.take { $0.removeValue(forKey: property) }
        }
    }
}
