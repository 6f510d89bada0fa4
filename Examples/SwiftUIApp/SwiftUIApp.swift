// tvOS has neither sliders nor steppers.
#if canImport(SwiftUI) && !os(tvOS)
    import ObservableStorage
    import SwiftUI

    extension ApplicationKeys {
        var volume: StorageKey<Double> { StorageKey(default: 0.8) }
        var isSoundOn: StorageKey<Bool> { StorageKey(default: true) }
        var title: StorageKey<String?> { StorageKey() }
    }

    struct AppKeys: KeyGroup {
        let launchCount = StorageKey("launchCount", default: 0)
        let debug = DebugKeys()

        struct DebugKeys: KeyGroup {
            let showConsole = StorageKey("showConsole", default: false)
            let level = StorageKey("level", default: 1)
            var prefix: String? { "debug" }
        }
    }

    /// An application whose windows share their settings, each with a font size of its own.
    ///
    /// While it runs, `prefs` can change the settings: the views follow.
    @main
    struct PlayerApp: App {
        private let settings = KeyedStore<AppKeys>(.standard)

        init() {
            settings.launchCount += 1
        }

        var body: some Scene {
            WindowGroup {
                PlayerView()
                    .keyedStore(settings)
                    .storedScene()
            }
        }
    }

    struct PlayerView: View {
        @Stored(\.title) private var title
        @Stored(\.isSoundOn) private var isSoundOn
        @Stored("fontSize", in: .scene) private var fontSize = 13

        var body: some View {
            VStack {
                Text(title ?? "Nothing is playing")
                Button("Play") { title = "So What" }
                StoredToggle("Sound", \.isSoundOn)
                if isSoundOn { VolumeView() }
                Stepper("Font size of this window: \(fontSize)", value: $fontSize)
                SettingsView()
            }
        }
    }

    struct VolumeView: View {
        @Stored(\.volume) private var volume

        var body: some View {
            HStack {
                Slider(value: $volume)
                Button("Mute") {
                    withAnimation { volume = 0 }
                }
            }
        }
    }

    struct SettingsView: View {
        @StoredGroup(AppKeys.self) private var settings

        var body: some View {
            Form {
                Text("Launched \(settings.launchCount) times")
                Toggle("Console", isOn: $settings.debug.showConsole)
                if settings.debug.showConsole { Stepper("Level", value: $settings.debug.level) }
            }
        }
    }

    struct PlayerPreviews: PreviewProvider {
        static var previews: some View {
            PlayerView()
        }
    }
#else
    /// Says why there is no application here.
    @main
    enum PlayerApp {
        static func main() {
            print("This example needs SwiftUI and its sliders.")
        }
    }
#endif
