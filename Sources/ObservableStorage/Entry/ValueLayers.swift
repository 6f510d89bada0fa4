import PropertyListCoding

/// The values of entries besides the stored ones, by name.
struct ValueLayers: Sendable {
    /// Values that take precedence over all others, and cannot be set.
    var mandatory: [String: PropertyListValue] = [:]
    /// Texts that take precedence over stored values in this process.
    var overrides = Overrides.none
    /// Values registered by this process for use while none is stored.
    var registered: [String: PropertyListValue] = [:]
    /// Values for use while none is stored or registered.
    var defaults: [String: PropertyListValue] = [:]

    /// The values of a key besides its own default, in the order of precedence.
    func entry(_ name: EntryName, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        var entry = name.entry(registered: fallback(of: name), stored)
        guard mayHideStored else { return entry }
        if let value = mandatory(name) { return StoredEntry(stored: value, fallback: entry.fallback, registered: entry.registered) }
        entry.override = overrides.text(of: name)
        return entry
    }

    /// Whether there are values that take precedence over stored ones.
    var mayHideStored: Bool { !mandatory.isEmpty || !overrides.isEmpty }

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

    /// The mandatory value of a key: its own, or else that of the key to which it falls back.
    func mandatory(_ name: EntryName) -> PropertyListValue? {
        mandatory.isEmpty ? nil : name.leaf(mandatory[name.own]) ?? name.fallback.flatMap { name.leaf(mandatory[$0]) }
    }

    /// Whether the default of a key would be used if nothing was stored, so that reading may store it.
    func allowDefault(of name: EntryName) -> Bool {
        fallback(of: name) == nil && mandatory(name) == nil
    }

    /// The value of a key that is used while none is stored.
    func fallback(of name: EntryName) -> PropertyListValue? {
        if registered.isEmpty, defaults.isEmpty { return nil }
        return name.leaf(registered[name.registered]) ?? name.leaf(defaults[name.registered])
    }
}

/// The values of a key besides its own default, in the order of precedence.
struct StoredEntry: Sendable, Equatable {
    /// The text that hides the other values in this process.
    var override: OverrideText?
    let stored: PropertyListValue?
    /// The stored value of the key to which this one falls back.
    var fallback: PropertyListValue?
    let registered: PropertyListValue?

    /// The change of a key between these values: whether its own value changes, not the fallback's, and whether that is removed; nil if the
    /// key has the same value.
    func change(to new: StoredEntry) -> (isOwn: Bool, isRemoval: Bool)? {
        if new.override != nil { return nil }
        if stored != new.stored { return (true, new.stored == nil) }
        return new.stored == nil && fallback != new.fallback ? (false, new.fallback == nil) : nil
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
