import ObservableStorage
import SwiftUI

// The code of the article for those who come from AppStorage, as far as it needs SwiftUI.

// snippet: ComingFromAppStorage
enum Configuration {
    static let volume = StorageKey("volume", default: 0.8)
}

@MainActor
final class Defaults: ObservableObject {
    @Persisted(Configuration.volume) var volume
}

struct VolumeControls: View {
    @Stored(Configuration.volume) var volume
    @ObservedObject var defaults: Defaults

    var body: some View {
        Slider(value: $volume)
        Slider(value: $defaults.volume)
    }
}
// end
