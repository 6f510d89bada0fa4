import CloudStorage
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

extension StorageKey<Double> {
    fileprivate static let volume = StorageKey("volume", default: 0.5)
}

extension StorageKey<String> {
    fileprivate static let theme = StorageKey("theme", default: "light")
}

@Suite("Settings on all devices", .timeLimit(.minutes(10)))
struct ICloudTests {
    struct AppKeys: KeyGroup {
        let volume = StorageKey("volume", default: 0.5)
        let theme = StorageKey("theme", default: "light")
    }

    /// As on Apple's systems, where the remote need not be named.
    private func makeMirror(_ store: ObservableStore, in cloud: InMemoryCloud) -> CloudMirror {
        CloudMirror(store, keys: .volume, .theme, remote: cloud.makeRemote())
    }

    @Test("A test has two devices in one process")
    func twoDevices() async throws {
        // snippet: CloudStorage
        let cloud = InMemoryCloud()
        let phone = try ObservableStore(backend: InMemoryBackend())
        let tablet = try ObservableStore(backend: InMemoryBackend())
        let mirrors = [phone, tablet].map { store in
            CloudMirror(store, keys: .volume, .theme, remote: cloud.makeRemote())
        }
        for mirror in mirrors { mirror.start() }
        phone[.volume] = 0.8
        for await volume in tablet.values(of: .volume) where volume == 0.8 { break }
        for mirror in mirrors { mirror.stop() }
        // end
        #expect(tablet[.volume] == 0.8)
        #expect(tablet[.theme] == "light")
    }

    @Test("Events tell what a person has to know")
    func events() async throws {
        let cloud = InMemoryCloud()
        let settings = KeyedStore<AppKeys>(try ObservableStore(backend: InMemoryBackend()))
        let remote = cloud.makeRemote()
        // snippet: CloudStorage
        let mirror = CloudMirror(settings, \.volume, \.theme, remote: remote)
        let events = mirror.events
        mirror.start()
        // end
        defer { withExtendedLifetime(mirror) {} }
        cloud.replaceValues([:], because: .quotaViolation)
        // snippet: CloudStorage
        for await event in events {
            switch event {
            case .quotaExceeded: return show("iCloud is full: settings stay on this device.")
            case .refused(let key, let reason): return show("\(key) stays on this device: \(reason)")
            case .rejected, .downloadBegan, .accountChanged: break
            }
        }
        // end
        Issue.record("no event")
    }

    private func show(_ text: String) {
        #expect(text.hasPrefix("iCloud is full"))
    }
}
