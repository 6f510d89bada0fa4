import Synchronization

/// The notifications of the object that has a property.
///
/// A property wrapper receives its object only with each access: the first access links the object.
@usableFromInline final class PropertyOwner: Sendable {
    /// The notifications of an object: notifies it that its property is going to be set; the subscription to changes by others, which the
    /// property's own setter mutes; and an object with the same lifetime. Not the object itself, which may be in its `deinit`: in
    /// Objective-C, forming a weak reference to an object that is being deallocated ends the process.
    typealias Link = (willSet: @Sendable () -> Void, token: ObservationToken, lifetime: WeakReference<AnyObject>)

    private typealias Entry = (id: ObjectIdentifier, link: Link)

    // One, unless the wrapper was copied into several objects.
    private let entries = Lock<[Entry]>([])
    // The last type whose objects are not notified: most accesses only compare it. Types are never released.
    private let unlinkedType = Atomic<UInt>(0)

    /// The notifications of an object, created by its first access.
    ///
    /// - Parameter make: subscribes; returns nil if objects of this type are not notified.
    func link(of object: AnyObject, _ make: () -> Link?) -> Link? {
        let type = UInt(bitPattern: ObjectIdentifier(Swift.type(of: object)))
        guard unlinkedType.load(ordering: .relaxed) != type else { return nil }
        let id = ObjectIdentifier(object)
        if let known = entries.withLock({ Self.link(id, in: $0) }) { return known }
        guard let created = make() else {
            unlinkedType.store(type, ordering: .relaxed)
            return nil
        }
        // Released after unlocking, as are the links: the last reference to one may be among them. The objects are not used.
        nonisolated(unsafe) var objects: [AnyObject?] = []
        defer { withExtendedLifetime(objects) {} }
        let (link, _) = entries.take { entries in
            let before = entries
            objects = before.map(\.link.lifetime.object)
            entries = zip(before, objects).filter { $1 != nil }.map(\.0)
            if let known = Self.link(id, in: entries) { return (known, before) }
            entries.append((id, created))
            return (created, before)
        }
        return link
    }

    /// The link of an object that the caller retains. A link whose lifetime has ended belonged to an earlier object at the same address.
    ///
    /// Loading the reference of the object's own link releases nothing, because the object retains what it refers to.
    private static func link(_ id: ObjectIdentifier, in entries: [Entry]) -> Link? {
        entries.first { $0.id == id && $0.link.lifetime.object != nil }?.link
    }
}
