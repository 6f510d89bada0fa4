import ObservableStorage
import SwiftUI

// Every form of what the library has for SwiftUI, as views use it; and the code of the article about SwiftUI.

// snippet: SwiftUI
extension ApplicationKeys {
    var volume: StorageKey<Double> { StorageKey(default: 0.8) }
    var isSoundOn: StorageKey<Bool> { StorageKey(default: true) }
}

struct VolumeView: View {
    @Stored(\.volume) var volume
    @Stored("title") var title: String?
    @Stored("theme") var theme = "light"

    var body: some View {
        VStack {
            Text(title ?? "nothing")
            Slider(value: $volume)
            StoredToggle("Sound", \.isSoundOn)
            Button("Mute") {
                withAnimation { volume = 0 }
            }
        }
    }
}
// end

// snippet: SwiftUI
struct AppKeys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
    let debug = DebugKeys()

    struct DebugKeys: KeyGroup {
        let showConsole = StorageKey("showConsole", default: false)
        var prefix: String? { "debug" }
    }
}

struct SettingsView: View {
    @StoredGroup(AppKeys.self) var settings
    @Stored(\AppKeys.launchCount) var launchCount

    var body: some View {
        Form {
            Text("Launched \(settings.launchCount) times")
            Toggle("Console", isOn: $settings.debug.showConsole)
            Button("Start again") { launchCount = 0 }
        }
    }
}
// end

// snippet: SwiftUI
struct PlayerApp: App {
    private let settings = KeyedStore<AppKeys>(.standard, prefix: "app")

    var body: some Scene {
        WindowGroup {
            EditorView()
                .storedScene()
                .observableStore(.standard)
                .keyedStore(settings)
        }
    }
}
// end

// snippet: SwiftUI
struct EditorView: View {
    @Stored("fontSize", in: .scene) var fontSize = 13

    var body: some View {
        Stepper("Font size", value: $fontSize)
    }
}
// end

// snippet: SwiftUI
@MainActor @Observable
final class PlayerModel {
    let settings = ObservableValues(KeyedStore<AppKeys>(.standard))

    var isFirstLaunch: Bool { settings.launchCount == 0 }
}

struct ModelView: View {
    let model: PlayerModel

    var body: some View {
        Text(model.isFirstLaunch ? "Welcome" : "Welcome back")
        Toggle("Console", isOn: model.settings.bindings.debug.showConsole)
    }
}
// end

// snippet: SwiftUI
@MainActor
final class PlayerObject: ObservableObject {
    @Persisted("title") var title: String?
}

struct TitleView: View {
    @ObservedObject var player: PlayerObject

    var body: some View {
        Text(player.title ?? "nothing")
    }
}
// end

// snippet: SwiftUI
struct VolumeViewPreviews: PreviewProvider {
    static let store: ObservableStore = {
        let store = ObservableStore.standard
        store.set("So What", forKey: "title")
        return store
    }()

    static var previews: some View {
        VolumeView().observableStore(store)
    }
}
// end

extension StorageKey<Double> {
    static let volume = StorageKey("volume", default: 0.8)
}

extension StorageKey<Bool> {
    static let isMuted = StorageKey("isMuted", default: false)
}

extension ApplicationKeys {
    var place: StorageKey<Place> { StorageKey("place", default: Place()) }
}

private let sharedStore = ObservableStore(suiteName: "shared")

extension StoreLocation where Self == ObservableStore {
    static var shared: ObservableStore { sharedStore }
}

/// The same stores, by the same names, outside of views.
final class Settings {
    @Persisted(.volume, in: .shared) var volume
    let standard = KeyedStore<AppKeys>(.standard)
    let shared = KeyedStore<AppKeys>(.shared)
    let store = ObservableStore.shared
    let same = ObservableStore.standard
}

struct Place: Codable, CodableStorable, Equatable, Sendable {
    var city = "Basel"
}

nonisolated struct Theme: Codable, Sendable {
    var name = "light"
}

/// A property in each form; all with a store and a scene as well.
struct FormsView: View {
    @Stored(.volume) var key
    @Stored(\.volume) var path
    @Stored(\AppKeys.launchCount) var groupPath
    @Stored(\AppKeys.debug.showConsole) var nestedPath
    @Stored("named") var named = 0.8
    @Stored("optional") var optional: String?
    @Stored("coded", codec: .json) var coded = Theme()
    @Stored("codedOptional", codec: .json) var codedOptional: Theme?

    @Stored(.volume, in: .scene) var keyInScene
    @Stored(\.volume, in: .scene) var pathInScene
    @Stored(\AppKeys.launchCount, in: .scene) var groupPathInScene
    @Stored("named", in: .scene) var namedInScene = 0.8
    @Stored("optional", in: .scene) var optionalInScene: String?
    @Stored("coded", codec: .json, in: .scene) var codedInScene = Theme()
    @Stored("codedOptional", codec: .json, in: .scene) var codedOptionalInScene: Theme?
    @Stored(.volume, in: .environment) var keyInEnvironment

    @Stored(.volume, in: .standard) var keyInStandard
    @Stored("named", in: .standard) var namedInStandard = 0.8
    @Stored("optional", in: .shared) var optionalInShared: String?
    @Stored("coded", codec: .json, in: .shared) var codedInShared = Theme()
    @StoredGroup(AppKeys.self, in: .shared) var groupInShared

    @Stored(\.place) var place

    var body: some View {
        Text("\(key) \(path) \(groupPath) \(nestedPath ? 1 : 0) \(named) \(optional ?? "") \(coded.name) \(codedOptional?.name ?? "")")
        TextField("City", text: $place.city)
        Toggle("Console", isOn: $nestedPath.animation())
        Button("Change") {
            key = 0.1
            path += 0.1
            optional = nil
            coded.name = "dark"
            place.city = "Bern"
        }
    }
}

#if !os(tvOS) && !os(watchOS)
    // snippet: SwiftUI
    struct TintView: View {
        @Stored("tint") var tint = Color.accentColor

        var body: some View {
            ColorPicker("Tint", selection: $tint)
        }
    }
// end
#endif

/// Properties whose store is an argument of the view.
struct StoreView: View {
    @Stored var volume: Double
    @Stored private var name: String
    @StoredGroup private var settings: ObservableValues<AppKeys>
    @StoredGroup(AppKeys.self, in: .scene) private var sceneSettings
    private let scene: SceneStore

    init(store: ObservableStore, name: String) {
        scene = SceneStore(sceneID: "side", base: store)
        _volume = Stored(.volume, in: store)
        _name = Stored(wrappedValue: "", "names/\(name)", in: scene)
        _settings = StoredGroup(in: store)
    }

    var body: some View {
        Slider(value: $volume)
        TextField("Name", text: $name)
        Toggle("Console", isOn: $settings.debug.showConsole)
        DetailView(volume: $volume, debug: settings.debug, bindings: $sceneSettings.debug)
        Button("Console") {
            settings.debug.showConsole = true
            sceneSettings.launchCount += 1
            settings.settings.reset()
        }
    }
}

/// Bindings and nested groups that are passed on.
struct DetailView: View {
    @Binding var volume: Double
    let debug: ObservableValues<AppKeys.DebugKeys>
    let bindings: KeyBindings<AppKeys.DebugKeys>

    var body: some View {
        Slider(value: $volume, in: 0...2)
        Text(debug.showConsole ? "on" : "off")
        Toggle("Console", isOn: bindings.showConsole)
        Toggle("Console", isOn: Bindable(debug).showConsole)
    }
}

/// Toggles in each form.
struct TogglesView: View {
    let store: ObservableStore

    var body: some View {
        StoredToggle("Muted", .isMuted)
        StoredToggle("Sound", \.isSoundOn)
        StoredToggle("Console", \AppKeys.debug.showConsole, in: .scene)
        StoredToggle(.isMuted, in: store) { Text("Muted") }
        StoredToggle(\.isSoundOn) { Text("Sound") }
        StoredToggle(\AppKeys.debug.showConsole) { Text("Console") }
    }
}

/// What the environment has.
struct EnvironmentView: View {
    @Environment(\.observableStore) private var store
    @Environment(\.sceneStore) private var scene

    var body: some View {
        Button("Mute") {
            store[.isMuted] = true
            scene?[.volume] = 0
        }
    }
}

/// The modifiers in each form.
struct RootView: View {
    let store: ObservableStore

    var body: some View {
        TogglesView(store: store).storedScene("main").observableStore(store)
        FormsView().keyedStore(KeyedStore<AppKeys>(store)).keyedStore(KeyedStore<ApplicationKeys>(store, prefix: "app"))
        EnvironmentView().environment(\.observableStore, store).storedScene()
    }
}
