// Every form in which an application of AppKit uses scenes: windows with an identifier.
import AppKit
import ObservableStorage

extension ObservableStore {
    fileprivate static let documents = ObservableStore(suiteName: "documents")
}

extension StorageKey<Double> {
    fileprivate static let zoom = StorageKey("zoom", default: 1.0)
}

private final class EditorWindow: NSWindow, SceneStoring {
    @SceneStored("title") var heading = "Untitled"
}

private final class EditorWindowController: NSWindowController, SceneStoring {
    @SceneStored(.zoom) var zoom

    override func windowDidLoad() {
        super.windowDidLoad()
        window?.identifier = NSUserInterfaceItemIdentifier("editor")
        zoom *= 2
        print(sceneID ?? "", sceneStore?[.zoom] ?? 1, $zoom.isSet)
    }

    func windowClosed() {
        sceneStore?.reset()
    }
}

private final class EditorController: NSViewController, SceneStoring {
    @SceneStored("age") var age = 24
    @SceneStored("name") var name: String?

    override func viewDidLoad() {
        super.viewDidLoad()
        age += 1
        name = nil
    }
}

private final class EditorView: NSView, SceneStoring {
    nonisolated var applicationStore: ObservableStore { .documents }
    @SceneStored("color") var color = "red"

    func toggle() {
        color = color == "red" ? "blue" : "red"
    }
}

@MainActor private func windows(_ window: NSWindow, _ controller: NSWindowController, _ view: NSView, _ other: NSViewController) {
    let store = ObservableStore.documents
    let scenes: [SceneStore?] = [
        SceneStore(window), SceneStore(controller, base: store), SceneStore(view, writesThrough: true), SceneStore(other),
    ]
    for scene in scenes.compactMap(\.self) { scene[.zoom] = 2 }
    store.discardScenes(except: [window, view.window].compactMap { $0?.identifier?.rawValue })
}

private final class TintedView: NSView {
    @Persisted("tint", codec: .color) var tint = NSColor.red
    private static let recent = StorageKey<NSColor?>("recent", codec: .color)

    func pick(_ color: NSColor) {
        tint = color
        ObservableStore.standard[Self.recent] = color
    }
}
