import Foundation
import ObservableStorage
import SwiftUI
import WidgetKit

// The code of the article about widgets.

// snippet: Widgets
struct PlayerKeys: KeyGroup {
    let title = StorageKey<String?>("title")
}
// end

// snippet: Widgets
func reloadWidgets(_ settings: KeyedStore<PlayerKeys>) async throws {
    for await _ in settings.values(of: \.title) {
        try await settings.store.flush()
        WidgetCenter.shared.reloadTimelines(ofKind: "player")
    }
}
// end

// snippet: Widgets
struct PlayerEntry: TimelineEntry {
    let date = Date.now
    var title: String?
}

struct PlayerProvider: TimelineProvider {
    func placeholder(in context: Context) -> PlayerEntry { PlayerEntry() }

    func getSnapshot(in context: Context, completion: @escaping @Sendable (PlayerEntry) -> Void) {
        completion(entry)
    }

    func getTimeline(in context: Context, completion: @escaping @Sendable (Timeline<PlayerEntry>) -> Void) {
        completion(Timeline(entries: [entry], policy: .never))
    }

    private var entry: PlayerEntry {
        do {
            let store = try ObservableStore(appGroup: "group.com.example.player", access: .readOnly)
            return PlayerEntry(title: KeyedStore<PlayerKeys>(store).title)
        } catch {
            print("\(error)")
            return PlayerEntry()
        }
    }
}

struct PlayerWidget: Widget {
    var body: some WidgetConfiguration {
        StaticConfiguration(kind: "player", provider: PlayerProvider()) { entry in
            Text(entry.title ?? "nothing")
        }
    }
}
// end
