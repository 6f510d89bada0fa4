@testable import CloudStorage
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Devices of one user in a simulated cloud: every delay, loss, repetition and reordering is a choice of a seeded generator.
struct CloudHistory {
    struct Device {
        var state: CloudMirrorState?
        var values: [String: PropertyListValue] = [:]
        var stamps: [String: CloudStamp] = [:]
        /// Local changes of which the mirror has not been notified, with the values that they replaced.
        var edited: [(name: String, old: String?)] = []
        /// The values that this installation replaced by edits of its own, of which the mirror was notified.
        var replaced: [String: Set<String>] = [:]
        /// The system's copy of the cloud, and what it has not sent or received yet.
        var copy: [String: PropertyListValue] = [:]
        var outbox: [(name: String, entry: PropertyListValue)] = []
        var inbox: [(name: String, entry: PropertyListValue)] = []
        var isWaiting = false
        var clockOffset: Int64 = 0
    }

    /// What happens besides edits and deliveries.
    struct Weather {
        var hasWrongClocks = true
        var hasRestarts = true
        var hasFreshInstalls = true
        var hasDiscards = true
        var hasDelayedNotifications = true
    }

    static let names = ["a", "b", "c"]

    private var generator: SeededGenerator
    private let weather: Weather
    private(set) var devices: [Device]
    private var server: [String: PropertyListValue] = [:]
    /// All entries that reached the server.
    private var log: [(name: String, entry: PropertyListValue)] = []
    private var written: [String: Set<String>] = [:]
    private var lastEdit: [String: PropertyListValue?] = [:]
    private var step: Int64 = 1_000
    private(set) var violations: [String] = []

    init(seed: UInt64, _ weather: Weather) {
        generator = SeededGenerator(seed: seed)
        self.weather = weather
        devices = []
        for _ in 0..<Int.random(in: 2...4, using: &generator) { devices.append(install()) }
        for index in devices.indices { start(index) }
    }

    private mutating func install() -> Device {
        var device = Device()
        if weather.hasWrongClocks { device.clockOffset = [0, 0, -900, 50, 1_000_000_000].randomElement(using: &generator) ?? 0 }
        // A value that was stored before the mirror began, such as a default written by the program.
        if Bool.random(using: &generator) { device.values["a"] = "default" }
        device.inbox = server.map { ($0.key, $0.value) }
        return device
    }

    /// Runs random steps, and then until nothing is left to do.
    mutating func run(steps: Int) {
        for _ in 0..<steps {
            step += 1
            randomStep()
        }
        settle()
        check()
    }

    private mutating func randomStep() {
        let index = Int.random(in: devices.indices, using: &generator)
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<6: edit(index)
        case 6..<9: if weather.hasDelayedNotifications { notify(index) }
        case 9..<12: send(index)
        case 12..<16: receive(index)
        case 16: if weather.hasRestarts { devices[index].state == nil ? start(index) : stop(index) }
        case 17: if weather.hasFreshInstalls, Int.random(in: 0..<3, using: &generator) == 0 { devices[index] = install() }
        case 18: if weather.hasDiscards { discard(index) }
        default: if devices[index].isWaiting { waitIsOver(index) }
        }
    }

    private mutating func edit(_ index: Int) {
        let name = Self.names.randomElement(using: &generator) ?? "a"
        let isRemoval = Int.random(in: 0..<5, using: &generator) == 0
        let value = isRemoval ? nil : PropertyListValue.string("\(name) \(step)")
        guard devices[index].values[name] != value else { return }
        devices[index].edited.append((name, text(devices[index].values[name])))
        devices[index].values[name] = value
        if let value = text(value) { written[name, default: []].insert(value) }
        lastEdit[name] = .some(value)
        if !weather.hasDelayedNotifications { notify(index) }
    }

    private func text(_ value: PropertyListValue?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }

    private mutating func notify(_ index: Int) {
        guard !devices[index].edited.isEmpty else { return }
        let (name, old) = devices[index].edited.removeFirst()
        if let old, devices[index].state != nil { devices[index].replaced[name, default: []].insert(old) }
        handle(.localChanged(name, devices[index].values[name], devices[index].stamps[name], isMigration: false), index)
    }

    private mutating func send(_ index: Int) {
        guard !devices[index].outbox.isEmpty else { return }
        let sent = devices[index].outbox.removeFirst()
        server[sent.name] = sent.entry
        log.append(sent)
        for other in devices.indices where other != index { devices[other].inbox.append(sent) }
    }

    private mutating func receive(_ index: Int) {
        guard let place = devices[index].inbox.indices.randomElement(using: &generator) else { return }
        let received = devices[index].inbox[place]
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: break
        case 1:
            devices[index].inbox.remove(at: place)
            return
        default: devices[index].inbox.remove(at: place)
        }
        devices[index].copy[received.name] = received.entry
        // The notification may be lost.
        if Int.random(in: 0..<4, using: &generator) > 0 { handle(.cloudChanged(.serverChange, devices[index].copy), index) }
    }

    private mutating func discard(_ index: Int) {
        for (name, _) in devices[index].outbox { devices[index].copy[name] = server[name] }
        devices[index].outbox = []
        devices[index].isWaiting = devices[index].state != nil
        handle(.cloudChanged(.initialSync, devices[index].copy), index)
    }

    private mutating func waitIsOver(_ index: Int) {
        devices[index].isWaiting = false
        handle(.delayEnded(devices[index].copy), index)
    }

    private mutating func start(_ index: Int) {
        guard devices[index].state == nil else { return }
        devices[index].state = CloudMirrorState(Self.names.map { MirroredKey(name: $0) })
        devices[index].edited = []
        handle(.started(values: devices[index].values, stamps: devices[index].stamps, cloud: devices[index].copy), index)
    }

    private mutating func stop(_ index: Int) {
        devices[index].state = nil
        devices[index].isWaiting = false
        devices[index].edited = []
    }

    private mutating func handle(_ input: CloudMirrorState.Input, _ index: Int) {
        var inputs = [input]
        while !inputs.isEmpty {
            let now = step + devices[index].clockOffset
            guard let actions = devices[index].state?.handle(inputs.removeFirst(), now: now) else { return }
            for action in actions {
                if let missed = perform(action, index) { inputs.append(missed) }
            }
        }
    }

    private mutating func perform(_ action: CloudMirrorState.Action, _ index: Int) -> CloudMirrorState.Input? {
        switch action {
        case .pull(let name, let old, let new, let stamp):
            let present = devices[index].values[name]
            guard present == old else { return .pullSkipped(name, present) }
            if let before = devices[index].stamps[name], before.time > stamp.time {
                violations.append("device \(index) goes back from \(before.time) to \(stamp.time) of \(name)")
            }
            if let new = text(new), devices[index].replaced[name]?.contains(new) == true {
                violations.append("device \(index) goes back to \(new), which it had replaced itself")
            }
            devices[index].values[name] = new
            devices[index].stamps[name] = stamp
        case .setStamp(let name, let stamp): devices[index].stamps[name] = stamp
        case .push(let name, let entry):
            devices[index].copy[name] = entry
            devices[index].outbox.append((name, entry))
        case .readLater: devices[index].isWaiting = true
        case .report: break
        }
        return nil
    }

    /// Delivers everything, as often as something new comes of it.
    private mutating func settle() {
        for index in devices.indices { start(index) }
        for index in devices.indices { while !devices[index].edited.isEmpty { notify(index) } }
        // What is known before the last deliveries; they may only lead to the newest of it.
        let candidates = Self.names.reduce(into: [String: [CloudEnvelope]]()) { candidates, name in
            candidates[name] = devices.compactMap { device in
                device.stamps[name].map { CloudEnvelope(device.values[name], at: $0.time) }
            }
        }
        var rounds = 0
        while true {
            for index in devices.indices {
                while !devices[index].outbox.isEmpty { send(index) }
                if devices[index].isWaiting { waitIsOver(index) }
            }
            for index in devices.indices where devices[index].outbox.isEmpty {
                devices[index].inbox = []
                devices[index].copy = server
                handle(.cloudChanged(.serverChange, server), index)
            }
            if devices.allSatisfy({ $0.outbox.isEmpty && !$0.isWaiting && $0.copy == server }) { break }
            rounds += 1
            guard rounds < 50 else {
                violations.append("the devices never come to rest")
                return
            }
        }
        for name in Self.names {
            let newest = candidates[name]?.max { left, right in
                left.time == right.time ? CloudEnvelope.isPreferred(right.value, over: left.value) : left.time < right.time
            }
            guard let newest else { continue }
            let final = server[name].map(CloudEnvelope.init(reading:))
            if final.map({ $0.time < newest.time }) ?? true { violations.append("\(name) ends older than \(newest)") }
            if final?.time == newest.time, final?.value != newest.value {
                violations.append("\(name) ends as \(final as Any), not \(newest)")
            }
        }
    }

    private mutating func check() {
        for name in Self.names {
            guard let entry = server[name] else { continue }
            let value = CloudEnvelope(reading: entry).value
            for (index, device) in devices.enumerated() where device.values[name] != value {
                violations.append("device \(index) has \(device.values[name] as Any) for \(name), and the cloud \(value as Any)")
            }
        }
        for (name, entry) in log {
            let value = CloudEnvelope(reading: entry).value
            if value == "default" { violations.append("a default of \(name) was pushed") }
            if let value = text(value), written[name]?.contains(value) != true { violations.append("nobody wrote \(value)") }
        }
    }

    /// The names whose final value is not the last edit in real time.
    var namesWithoutLastEdit: [String] {
        Self.names.filter { name in
            guard let last = lastEdit[name] else { return false }
            return devices.contains { $0.values[name] != last }
        }
    }
}
