import Synchronization

/// Where something was last found: looked at first, and no more than a hint, since anybody may move it or look elsewhere.
struct PlaceHint: ~Copyable, Sendable {
    private let place = Atomic(-1)

    var value: Int {
        get { place.load(ordering: .relaxed) }
        nonmutating set { if newValue != value { place.store(newValue, ordering: .relaxed) } }
    }
}
