import ObservableStorage

/// A value in the cloud with the time of its edit, in one entry.
///
/// In an entry of its own, the time would arrive separately: the system reports several changed names in several notifications
/// (ArtSabintsev/Zephyr#53), so that a value could be compared with the time of another one.
struct CloudEnvelope: Sendable, Equatable {
    /// The value; nil if it was removed.
    let value: PropertyListValue?
    /// The time of the edit in microseconds since 1970; 0 if it is not known, because another program has set the value.
    let time: Int64

    private static let timeName = "ObservableStorage.time"
    private static let valueName = "value"
    // A later edit has a later time even if a clock is wrong, so there must be numbers after every time.
    static let latest = Int64.max / 2

    init(_ value: PropertyListValue?, at time: Int64) {
        self.value = value
        self.time = time
    }

    /// Reads an entry of the cloud; one that is not an envelope is a value of unknown time.
    init(reading entry: PropertyListValue) {
        guard case .dictionary(let parts) = entry, case .integer(let number) = parts[Self.timeName],
            parts.keys.allSatisfy({ $0 == Self.timeName || $0 == Self.valueName })
        else {
            self.init(entry, at: 0)
            return
        }
        let time = number.value(as: Int64.self) ?? 0
        self.init(parts[Self.valueName], at: (1...Self.latest).contains(time) ? time : 0)
    }

    var entry: PropertyListValue {
        var parts = [Self.timeName: PropertyListValue.integer(PropertyListInteger(time))]
        parts[Self.valueName] = value
        return .dictionary(parts)
    }

    /// Whether a value takes precedence over another one of the same time, with the same result on every device: the one whose bytes are
    /// greater does, and any value does over a removal.
    static func isPreferred(_ value: PropertyListValue?, over other: PropertyListValue?) -> Bool {
        guard let value else { return false }
        guard let other else { return true }
        guard let bytes = CloudLimits.bytes(of: value), let otherBytes = CloudLimits.bytes(of: other) else { return false }
        return otherBytes.lexicographicallyPrecedes(bytes)
    }
}

/// The time of a key's last edit, as stored beside the values of a store.
struct CloudStamp: Sendable, Equatable {
    /// The time of the edit in microseconds since 1970; 0 if it is not known.
    var time: Int64
    /// Whether the edit was passed to the cloud or came from there.
    var isPushed: Bool
    /// Whether it is the time of the value beside which it is stored: not, if that was set since, and no mirror has seen it.
    var isOfValue = true

    private static let timeName = "time"
    private static let isPushedName = "isPushed"
    private static let fingerprintName = "value"

    init(_ time: Int64, isPushed: Bool) {
        self.time = time
        self.isPushed = isPushed
    }

    /// Reads the time stored beside a value; nil if there is none.
    init?(reading entry: PropertyListValue?, beside value: PropertyListValue?) {
        guard case .dictionary(let parts) = entry, case .integer(let number) = parts[Self.timeName],
            case .boolean(let isPushed) = parts[Self.isPushedName], let time = number.value(as: Int64.self),
            (0...CloudEnvelope.latest).contains(time)
        else { return nil }
        self.init(time, isPushed: isPushed)
        // Earlier versions stored no fingerprint.
        isOfValue = parts[Self.fingerprintName].map { $0 == Self.fingerprint(value) } ?? true
    }

    /// The stored form.
    ///
    /// - Parameter value: the value whose time it is.
    func entry(beside value: PropertyListValue?) -> PropertyListValue {
        .dictionary([
            Self.timeName: .integer(PropertyListInteger(time)), Self.isPushedName: .boolean(isPushed),
            Self.fingerprintName: Self.fingerprint(value),
        ])
    }

    private static func fingerprint(_ value: PropertyListValue?) -> PropertyListValue {
        .integer(PropertyListInteger(Int64(bitPattern: value.fingerprint)))
    }

    /// The name of the entry with the time of a key.
    static func entryName(of name: String) -> String {
        EntryName.hiddenPrefix + name
    }
}
