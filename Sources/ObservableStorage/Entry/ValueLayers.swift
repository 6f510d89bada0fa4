import PropertyListCoding

/// The values of entries besides the stored ones, by name.
struct ValueLayers: Sendable {
    /// Values that take precedence over all others, and cannot be set.
    var mandatory = ValueLayer()
    /// Texts that take precedence over stored values in this process.
    var overrides = Overrides.none
    /// Values registered by this process for use while none is stored.
    var registered = ValueLayer()
    /// Values for use while none is stored or registered.
    var defaults = ValueLayer()

    /// The values of a key besides its own default, in the order of precedence.
    func entry(_ name: EntryName, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        var entry = name.entry(registered: fallback(of: name), stored)
        guard mayHideStored else { return entry }
        (entry.mandatory, entry.override) = (mandatory(name), overrides.text(of: name))
        return entry
    }

    /// Whether there are values that take precedence over stored ones.
    var mayHideStored: Bool { !mandatory.isEmpty || !overrides.isEmpty }

    /// Whether there are values that are used while none is stored.
    var hasFallbacks: Bool { !registered.isEmpty || !defaults.isEmpty }

    /// Whether another value takes precedence over the stored one of a key.
    func hidesStored(_ name: EntryName) -> Bool {
        mayHideStored && (mandatory(name) != nil || overrides.text(of: name) != nil)
    }

    /// The same layers without overrides, for what is stored: other processes do not have them.
    var withoutOverrides: ValueLayers {
        var layers = self
        layers.overrides = .none
        return layers
    }

    /// The mandatory value of a key: its own, or else that of the key to which it falls back, each under the present or an earlier name.
    func mandatory(_ name: EntryName) -> PropertyListValue? {
        mandatory.isEmpty ? nil : name.value { mandatory[$0] } ?? name.fallbackValue { mandatory[$0] }
    }

    /// Whether the default of a key would be used if nothing was stored, so that reading may store it.
    func allowDefault(of name: EntryName) -> Bool {
        fallback(of: name) == nil && mandatory(name) == nil
    }

    /// The value of a key that is used while none is stored.
    func fallback(of name: EntryName) -> PropertyListValue? {
        guard hasFallbacks else { return nil }
        let value = name.fallback == nil ? name.value : name.fallbackValue
        return value { registered[$0] } ?? value { defaults[$0] }
    }

    /// The layer that has the mandatory or the registered value of a key, and where it is there; nil for another source.
    func location(
        of source: StoredEntry.Level?, _ name: EntryName
    ) -> (layer: WritableKeyPath<ValueLayers, ValueLayer>, name: EntryName)? {
        switch source {
        case .mandatory:
            let isOwn = name.value { mandatory[$0] } != nil
            return (\.mandatory, (isOwn ? name : name.registered).location { mandatory[$0] })
        case .registered:
            let name = name.registered
            let isRegistered = name.value { registered[$0] } != nil
            return (isRegistered ? \.registered : \.defaults, name.location { isRegistered ? registered[$0] : defaults[$0] })
        case .override, .stored, .fallback, nil: return nil
        }
    }

    /// The previous values of a source of a key, the newest first.
    func earlier(_ source: StoredEntry.Level, _ name: EntryName) -> [PropertyListValue] {
        location(of: source, name).flatMap { self[keyPath: $0.layer].histories[$0.name.own]?.earlier($0.name) } ?? []
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    func earlier(
        _ name: EntryName, _ stored: (String) -> PropertyListValue?, _ history: (String) -> EntryHistory?
    ) -> EarlierValues {
        let (own, fallback) = (name.location(stored), name.fallbackLocation(stored))
        return EarlierValues(
            mandatory: earlier(.mandatory, name), stored: history(own.own)?.earlier(own) ?? [],
            fallback: fallback.flatMap { history($0.own)?.earlier($0) } ?? [], registered: earlier(.registered, name))
    }
}

/// The values of a layer by name, and their histories, as far as they were replaced or found to be invalid.
struct ValueLayer: Sendable {
    private var values: [String: PropertyListValue] = [:]
    var histories: [String: EntryHistory] = [:]

    var isEmpty: Bool { values.isEmpty }

    subscript(name: String) -> PropertyListValue? { values[name] }

    /// Sets or removes a value, and returns the previous one.
    mutating func set(_ new: PropertyListValue?, for name: String) -> PropertyListValue? {
        let old = values[name]
        if old == new { return old }
        values[name] = new
        var history = histories[name] ?? EntryHistory()
        // Of the history, the revisions are its own.
        history.replaced(old, by: new, isEdit: false, type: nil, revision: history.revision + 1)
        histories[name] = old == nil || new == nil ? nil : history
        return old
    }

    /// Replaces all values, and returns the names of those that differ.
    mutating func replaceAll(by new: [String: PropertyListValue]) -> [String] {
        let names = values.keys.filter { new[$0] == nil } + new.keys.filter { values[$0] != new[$0] }
        for name in names { _ = set(new[name], for: name) }
        return names
    }
}

/// The values of a key besides its own default, in the order of precedence.
struct StoredEntry: Sendable, Equatable {
    /// The source of a valid value, and its stored form, nil for an override.
    typealias ValidValue = (source: Level, stored: PropertyListValue?)

    /// Where a value comes from, in the order of precedence.
    enum Level: CaseIterable { case mandatory, override, stored, fallback, registered }

    /// The value that hides all others, and cannot be set.
    var mandatory: PropertyListValue?
    /// The text that hides the other values in this process.
    var override: OverrideText?
    let stored: PropertyListValue?
    /// The stored value of the key to which this one falls back.
    var fallback: PropertyListValue?
    let registered: PropertyListValue?

    /// Whether the stored value is not known, because the storage was not read and nothing was set.
    var isUnread = false

    /// The source of the value that is in effect if it is valid; nil if that is the key's own default.
    var source: Level? {
        if mandatory != nil { return .mandatory }
        if override != nil { return .override }
        if stored != nil { return .stored }
        return fallback != nil ? .fallback : registered != nil ? .registered : nil
    }

    /// The sources of the values of which the first valid one is in effect, in the order of precedence.
    var sources: [Level] {
        Level.allCases.filter { level in
            switch level {
            case .override: override != nil
            // What an invalid override hides is not used.
            case .stored, .fallback: override == nil && self[level] != nil
            case .mandatory, .registered: self[level] != nil
            }
        }
    }

    /// The value of a source, unless that is an override.
    subscript(source: Level) -> PropertyListValue? {
        switch source {
        case .mandatory: mandatory
        case .override: nil
        case .stored: stored
        case .fallback: fallback
        case .registered: registered
        }
    }

    /// The value that is in effect if it is valid, unless that is an override.
    var present: PropertyListValue? { source.flatMap { self[$0] } }

    /// Whether a stored value of the key is removed, its own or else the fallback's, so that a later source is in effect.
    func isRemoved(in new: StoredEntry) -> Bool {
        if new.mandatory != nil || new.override != nil || new.stored != nil { return false }
        return stored != nil || new.fallback == nil
    }

    /// Whether the value that is in effect if it is valid is the same, and was not set or removed.
    func hasSameEffect(as other: StoredEntry) -> Bool {
        present == other.present && (source == other.source || stored == other.stored && fallback == other.fallback)
    }
}

/// The previous values of the sources of a key, the newest first, for readers that cannot decode the present ones.
struct EarlierValues: Sendable {
    var mandatory: [PropertyListValue] = []
    var stored: [PropertyListValue] = []
    var fallback: [PropertyListValue] = []
    var registered: [PropertyListValue] = []

    subscript(source: StoredEntry.Level) -> [PropertyListValue] {
        switch source {
        case .mandatory: mandatory
        case .override: []
        case .stored: stored
        case .fallback: fallback
        case .registered: registered
        }
    }

    /// The previous values after those of an entry were replaced, if these are the ones before.
    func after(_ entry: StoredEntry) -> EarlierValues {
        func next(_ source: StoredEntry.Level) -> [PropertyListValue] { entry[source].map { [$0] + self[source] } ?? [] }
        return EarlierValues(
            mandatory: next(.mandatory), stored: next(.stored), fallback: next(.fallback), registered: next(.registered))
    }
}

/// Where the value of a key comes from.
public enum ValueSource: Sendable, Hashable {
    /// A mandatory layer of the store, which takes precedence over all others.
    case mandatory(file: String)
    /// An argument of the command line, such as `--server-port`; see ``OverrideSource``.
    case argument(String)
    /// A variable of the environment, such as `APP_SERVER_PORT`, or `APP_SERVER_PORT_FILE` for a value in a file.
    case environment(String)
    /// A text that the program has provided, by the name of the key; see ``OverrideSource/texts(_:)``.
    case override(String)
    /// The store's own storage.
    case stored
    /// The store's own storage: the application's value, which a scene inherits.
    case inherited
    /// A value registered by this process.
    case registered
    /// A layer of default values of the store.
    case defaults(file: String)
    /// The key's own default.
    case keyDefault
}

extension ValueSource: CustomStringConvertible {
    /// The source for people: `--server-port`, `stored`, `mandatory in /etc/xdg/example.mandatory.plist`.
    public var description: String {
        switch self {
        case .mandatory(let file): "mandatory in \(file)"
        case .argument(let name), .environment(let name), .override(let name): name
        case .stored: "stored"
        case .inherited: "inherited"
        case .registered: "registered"
        case .defaults(let file): "default in \(file)"
        case .keyDefault: "default"
        }
    }
}
