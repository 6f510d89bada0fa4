import TestSupport
import Testing

@testable import ObservableStorage

/// An object of the main actor, as a view controller is, whose scene exists after it is shown.
@MainActor private final class Controller: SceneStoring, MainActorObject {
    nonisolated(unsafe) var sceneID: String?
    nonisolated let applicationStore: ObservableStore

    nonisolated init(_ store: ObservableStore) {
        applicationStore = store
    }
}

private final class Plain: SceneStoring {
    var sceneID: String?
    let applicationStore: ObservableStore

    init(_ store: ObservableStore) {
        applicationStore = store
    }
}

@Suite("Values that wait for a scene", .timeLimit(.minutes(10)))
@MainActor struct WaitingScenesTests {
    private let store: ObservableStore
    private let scenes = WaitingScenes()

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend(["count": 3]))
    }

    private func handle() -> SceneHandle<Int> {
        SceneHandle(Keys.count, waitingScenes: scenes)
    }

    private func observer() -> LifeCycleObserver {
        LifeCycleObserver(registry: StoreRegistry(), activity: nil, scenes: scenes)
    }

    @Test(
        "A value that is set before there is a scene is set there by the next notification, without another access",
        arguments: [
            "UISceneDidActivateNotification", "UISceneDidEnterBackgroundNotification", "NSWindowDidBecomeKeyNotification",
            "NSApplicationWillTerminateNotification", "UIApplicationWillTerminateNotification",
        ])
    func notification(name: String) throws {
        let event = try #require(LifeCycleObserver.notifications[name])
        let (controller, handle, observer) = (Controller(store), handle(), observer())
        handle.set(25, for: controller)
        observer.handle(event)
        #expect(store.entries == ["count": 3])
        controller.sceneID = "one"
        observer.handle(event)
        #expect(store.entries == ["count": 3, "scenes/one/count": 25])
        // It waits no longer.
        SceneStore(sceneID: "one", base: store)[Keys.count] = 26
        observer.handle(event)
        #expect(handle.value(for: controller) == 26)
    }

    @Test("The last of several values is set, and one that an access has set is not set again")
    func lastValue() {
        let (controller, handle) = (Controller(store), handle())
        handle.set(25, for: controller)
        handle.set(26, for: controller)
        controller.sceneID = "one"
        #expect(handle.value(for: controller) == 26)
        SceneStore(sceneID: "one", base: store)[Keys.count] = 27
        scenes.settle()
        #expect(store.entries["scenes/one/count"] == 27)
    }

    @Test("Neither the object nor the property is kept for it, and a value that never reaches a scene is reported")
    func lifetime() async throws {
        let failures = store.failures
        weak var ended: Controller?
        do {
            let (controller, handle) = (Controller(store), handle())
            ended = controller
            handle.set(25, for: controller)
        }
        #expect(ended == nil)
        scenes.settle()
        try await store.close()
        var count = 0
        for await failure in failures {
            guard case .unencodable = failure else { continue }
            count += 1
        }
        #expect(count == 1)
    }

    @Test("An object that is not of the main actor is only looked at when it is accessed")
    func otherObjects() {
        let (plain, handle) = (Plain(store), handle())
        handle.set(25, for: plain)
        plain.sceneID = "one"
        scenes.settle()
        #expect(store.entries == ["count": 3])
        #expect(handle.value(for: plain) == 25)
        #expect(store.entries["scenes/one/count"] == 25)
    }

    @Test("Off the main actor nothing is looked at")
    func offMain() async {
        let (controller, handle) = (Controller(store), handle())
        handle.set(25, for: controller)
        controller.sceneID = "one"
        await Task.detached { [scenes] in scenes.settle() }.value
        #expect(store.entries == ["count": 3])
        scenes.settle()
        #expect(store.entries["scenes/one/count"] == 25)
    }
}
