// Every form in which an application of UIKit uses scenes.
import Foundation
import ObservableStorage
import UIKit
import UserDefaultsStorage

extension ObservableStore {
    fileprivate static let documents = ObservableStore(suiteName: "documents")
}

extension StorageKey<Double> {
    fileprivate static let zoom = StorageKey("zoom", default: 1.0)
}

private final class EditorController: UIViewController, SceneStoring {
    @SceneStored("age") var age = 24
    @SceneStored("height") var height: Double = 1.8
    @SceneStored("name") var name: String?
    @SceneStored("tags", codec: .json) var tags = ["none"]
    @SceneStored("home", codec: .userDefaults) var home: URL?
    @SceneStored(.zoom) var zoom
    private var token: ObservationToken?

    override func viewDidLoad() {
        super.viewDidLoad()
        age += 1
        name = nil
        tags.append("two")
    }

    override func viewDidAppear(_ animated: Bool) {
        super.viewDidAppear(animated)
        token = $zoom.addUpdateListener { print($0.newValue) }
        let id: String? = sceneID
        let scene: SceneStore? = sceneStore
        print(id ?? "", scene?[.zoom] ?? 1, height, home as Any)
    }
}

/// With a store of its own, shared by the whole hierarchy of classes.
private class DocumentController: UIViewController, SceneStoring {
    nonisolated var applicationStore: ObservableStore { .documents }
    @SceneStored("page") var page = 1
}

private final class MapController: DocumentController {
    @SceneStored("scale") var scale = 2.0

    func reset() {
        (page, scale) = (1, 2)
    }
}

/// A new scene starts with the last value of any scene.
private final class CanvasView: UIView, SceneStoring {
    nonisolated var sceneStore: SceneStore? { sceneID.map { SceneStore(sceneID: $0, writesThrough: true) } }
    @SceneStored("color") var color = "red"

    func toggle() {
        color = color == "red" ? "blue" : "red"
    }
}

private final class OwnWindow: UIWindow, SceneStoring {
    @SceneStored("isFull") var isFull = false
}

private final class OwnScene: UIWindowScene, SceneStoring {
    @SceneStored("title") var heading = ""

    func rename() {
        heading = "\(heading)."
    }
}

/// An object that is told its scene.
@MainActor private final class Model: @MainActor SceneStoring {
    var sceneID: String?
    @SceneStored("draft") var draft = ""

    func connect(_ session: UISceneSession) {
        draft = "before"
        sceneID = session.persistentIdentifier
        print(draft, $draft.isSet)
    }
}

@MainActor private func scenes(_ scene: UIScene, _ view: UIView, _ controller: UIViewController, _ store: ObservableStore) async throws {
    let one: SceneStore = SceneStore(scene)
    let two: SceneStore? = SceneStore(view, base: store)
    let three: SceneStore? = SceneStore(controller, base: store, writesThrough: true)
    one[.zoom] = two?[.zoom] ?? three?[.zoom] ?? 1
    if let suite = UserDefaultsBackend(suiteName: one.sceneID) { try await one.importEntries(from: suite, once: "AppSceneStorage") }
    try await store.importEntries(from: UserDefaultsBackend(), once: "AppSceneStorage")
}

private final class Delegate: UIApplicationDelegate {
    func application(_ application: UIApplication, didDiscardSceneSessions sceneSessions: Set<UISceneSession>) {
        ObservableStore.standard.discard(sessions: sceneSessions)
    }

    func launched() {
        ObservableStore.standard.discardScenes(except: UIApplication.shared.openSessions)
    }
}

private final class TintedView: UIView, SceneStoring {
    @Persisted("tint", codec: .color) var tint = UIColor.red
    @SceneStored("background", codec: .color) var background: UIColor?
    private static let recent = StorageKey<UIColor?>("recent", codec: .color)

    func pick(_ color: UIColor) {
        tint = color
        background = nil
        ObservableStore.standard[Self.recent] = color
    }
}
