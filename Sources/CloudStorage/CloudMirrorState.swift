import ObservableStorage
import PropertyListCoding

/// Decides what a mirror does, as a value: inputs in, actions out, without a store, a cloud or a clock.
///
/// Each key is a register whose newest edit wins. On every input the present values of both sides are compared, never a list of changes, so
/// that notifications may be lost, repeated or arrive in any order.
struct CloudMirrorState: Sendable {
    enum Input: Sendable {
        /// The mirror begins with the stored values and times of its keys, and all entries of the cloud; nil for one that cannot be read.
        case started(values: [String: PropertyListValue], stamps: [String: CloudStamp], cloud: [String: PropertyListValue?])
        /// A value in the store has changed; the value and the time are the present ones. A migration is not an edit of the user, and
        /// neither is a change by another process that took the time with the value: the file was deleted or replaced.
        case localChanged(String, PropertyListValue?, CloudStamp?, isMigration: Bool, isExternal: Bool = false)
        /// A pulled value did not replace the present one, which is another one than expected; nor was its time noted. If the present one is
        /// not the pulled one, ``localChanged(_:_:_:isMigration:isExternal:)`` follows, with the time of the edit.
        case missed(String, PropertyListValue?)
        /// The storage has the pulled values.
        case stored([String: PropertyListValue?])
        /// The cloud has changed; all its entries.
        case cloudChanged(CloudChange, [String: PropertyListValue?])
        /// The delay after the begin of the download is over; all entries of the cloud.
        case waited([String: PropertyListValue?])
        /// Stored values that no mirror knows are to be pushed where the cloud has none.
        case uploading
    }

    enum Action: Sendable, Equatable {
        /// Replace a value in the store, if it is still the expected one, in memory and in the storage, and set its time.
        case pull(String, from: PropertyListValue?, to: PropertyListValue?, CloudStamp)
        /// Set the time of a key in the store.
        case note(String, CloudStamp?)
        /// Set an entry in the cloud.
        case push(String, PropertyListValue)
        /// Read the cloud again after a delay.
        case wait
        case tell(CloudMirror.Event)
    }

    private struct Remote {
        let entry: PropertyListValue
        let envelope: CloudEnvelope
        /// The value as the store will hold it, or the reason why it will not.
        let stored: Result<PropertyListValue?, StorageError>
    }

    private struct Register {
        let key: MirroredKey
        var value: PropertyListValue?
        /// The time of the value; nil if no mirror has seen an edit of it.
        var stamp: CloudStamp?
        var notedStamp: CloudStamp?
        var remote: Remote?
        /// Whether the cloud has an entry that cannot be read. It may be a newer edit, so the key is left alone.
        var isUnreadable = false
        /// The stored value and time that a pull replaces, until the storage has that.
        var replaced: (value: PropertyListValue?, stamp: CloudStamp?)?
        /// Whether the next edit was made before the value in the cloud was pulled.
        var isRemoteUnseen = false
        /// The last refusal or rejection that was reported.
        var reported: CloudMirror.Event?

        /// A time later than all known ones, even if a clock is wrong, up to the latest that there is.
        func time(after now: Int64) -> Int64 {
            min(CloudEnvelope.latest, max(now, (stamp?.time ?? 0) + 1, isRemoteUnseen ? 0 : (remote?.envelope.time ?? 0) + 1))
        }
    }

    private let keys: [MirroredKey]
    private var registers: [String: Register] = [:]
    private var names: [String] = []
    private var sizes: [String: Int] = [:]
    private var isDownloading = false
    /// The size of the cloud when it was full; nil if it is not.
    private var fullSize: Int?

    init(_ keys: [MirroredKey]) {
        self.keys = keys
    }

    /// The value of a key, whose time the last action on it notes.
    func value(of name: String) -> PropertyListValue? {
        registers[name]?.value
    }

    /// Records an input and returns what to do.
    ///
    /// - Parameter now: the time of the device's clock in microseconds since 1970.
    mutating func handle(_ input: Input, now: Int64) -> [Action] {
        switch input {
        case .started(let values, let stamps, let cloud):
            return start(values, stamps, cloud)
        case .localChanged(let name, let value, let stamp, let isMigration, let isExternal):
            return change(name, to: value, stamp, isMigration: isMigration, isExternal: isExternal, now: now)
        case .missed(let name, let value):
            guard let register = registers[name] else { return [] }
            registers[name]?.notedStamp = nil
            registers[name]?.replaced = nil
            if register.value == value { return note(name) }
            guard let replaced = register.replaced else { return [] }
            // The edit was made without the value in the cloud: the later one of the two counts.
            registers[name]?.value = replaced.value
            registers[name]?.stamp = replaced.stamp
            registers[name]?.isRemoteUnseen = true
            return []
        case .stored(let values):
            for (name, value) in values where registers[name]?.value == value { registers[name]?.replaced = nil }
            return []
        case .cloudChanged(let change, let cloud):
            return self.change(change, cloud)
        case .waited(let cloud):
            isDownloading = false
            return merge(cloud)
        case .uploading:
            return names.flatMap { name -> [Action] in
                guard let register = registers[name], register.stamp == nil, register.remote == nil, !register.isUnreadable,
                    register.value != nil
                else { return [] }
                registers[name]?.stamp = CloudStamp(0, isPushed: false)
                return push(name)
            }
        }
    }

    private mutating func start(
        _ values: [String: PropertyListValue], _ stamps: [String: CloudStamp], _ cloud: [String: PropertyListValue?]
    ) -> [Action] {
        var actions: [Action] = []
        for key in keys where registers[key.name] == nil {
            if let obstacle = key.obstacle ?? CloudLimits.obstacle(to: key.name) {
                actions.append(.tell(.refused(key: key.name, reason: obstacle)))
                continue
            }
            names.append(key.name)
            let stamp = stamps[key.name].map { CloudStamp($0.time, isPushed: $0.isPushed) }
            registers[key.name] = Register(key: key, value: values[key.name], stamp: stamp, notedStamp: stamp)
        }
        read(cloud)
        for name in names {
            guard let register = registers[name], let remote = register.remote, let stamp = register.stamp, stamp.time > 0 else { continue }
            guard remote.envelope.time == stamp.time, case .success(let stored) = remote.stored, stored != register.value else { continue }
            // An edit that no mirror has seen counts as made right after the last common value. Where that is a removal, the value may be a
            // default that was written by reading it.
            registers[name]?.stamp = stored == nil ? nil : CloudStamp(register.time(after: 0), isPushed: false)
        }
        return actions + reconcile()
    }

    private mutating func change(
        _ name: String, to value: PropertyListValue?, _ stored: CloudStamp?, isMigration: Bool, isExternal: Bool, now: Int64
    ) -> [Action] {
        guard let register = registers[name] else { return [] }
        if let stored, stored.isOfValue, stored.time > register.stamp?.time ?? 0 {
            // Another mirror of the same file has seen the edit, and pushes it.
            registers[name]?.value = value
            registers[name]?.stamp = stored
            registers[name]?.notedStamp = stored
            registers[name]?.isRemoteUnseen = false
            return []
        }
        guard value != register.value else { return [] }
        registers[name]?.value = value
        registers[name]?.replaced = nil
        registers[name]?.isRemoteUnseen = false
        let givenUp = isExternal ? register.replaced.flatMap { $0.stamp?.time == stored?.time ? $0 : nil } : nil
        // A pull was given up because another process had made an edit: this one, or one of what was pulled with it. Otherwise the file was
        // deleted or replaced.
        if isExternal, givenUp.map({ $0.value == value }) ?? (stored == nil && register.notedStamp != nil) {
            registers[name]?.stamp = stored
            registers[name]?.notedStamp = stored
            return reconcile(name)
        }
        let replaced = register.value.flatMap { upgraded($0, register.key) }
        let replacesNothing = replaced == nil
        if replacesNothing, isMigration || value == register.key.persistedDefault {
            // Nobody has chosen this value.
            registers[name]?.stamp = nil
            return register.isRemoteUnseen ? reconcile(name) : note(name)
        }
        // The same value in a newer form keeps its time.
        if isMigration, register.stamp == nil || replaced == value { return register.isRemoteUnseen ? reconcile(name) : [] }
        // Another value that a migration has set counts as made right after the last known one, or else it would be pulled back. So does one
        // that was set after a value of which another mirror of the file knows a later time.
        let known = stored.map { $0.isOfValue ? 0 : $0.time + 1 } ?? 0
        registers[name]?.stamp = CloudStamp(register.time(after: max(known, isMigration ? 0 : now)), isPushed: false)
        return register.isRemoteUnseen ? reconcile(name) : push(name)
    }

    /// The present form of a value; nil if it is not a value of the key.
    private func upgraded(_ value: PropertyListValue, _ key: MirroredKey) -> PropertyListValue? {
        do {
            return try key.stored(value)
        } catch {
            return nil
        }
    }

    private mutating func change(_ change: CloudChange, _ cloud: [String: PropertyListValue?]) -> [Action] {
        switch change {
        case .serverChange:
            return merge(cloud)
        case .initialSync:
            // Values set before the end of the download are discarded; the documentation advises a delay.
            isDownloading = true
            read(cloud)
            markDiscarded()
            return [.tell(.downloadBegan)] + reconcile() + [.wait]
        case .quotaViolation:
            read(cloud)
            markDiscarded()
            fullSize = sizes.values.reduce(0, +)
            return [.tell(.quotaExceeded)] + reconcile()
        case .accountChange:
            // The values of the previous account stay on the device; without times they are not pushed until they are edited.
            (isDownloading, fullSize) = (false, nil)
            for name in names { registers[name]?.stamp = nil }
            return [.tell(.accountChanged)] + merge(cloud)
        }
    }
}

// The comparison of both sides.
extension CloudMirrorState {
    private mutating func merge(_ cloud: [String: PropertyListValue?]) -> [Action] {
        read(cloud)
        if let size = fullSize, sizes.values.reduce(0, +) < size { fullSize = nil }
        return reconcile()
    }

    private mutating func read(_ cloud: [String: PropertyListValue?]) {
        sizes = cloud.reduce(into: [:]) { sizes, entry in
            sizes[entry.key] = entry.value.flatMap { CloudLimits.size(of: $0, named: entry.key) } ?? 0
        }
        for name in names {
            let entry: PropertyListValue?
            switch cloud[name] {
            case .some(nil):
                registers[name]?.isUnreadable = true
                continue
            case .some(let present?): entry = present
            case nil: entry = nil
            }
            registers[name]?.isUnreadable = false
            guard let register = registers[name], register.remote?.entry != entry else { continue }
            registers[name]?.remote = entry.map { Self.remote($0, register.key) }
        }
    }

    private static func remote(_ entry: PropertyListValue, _ key: MirroredKey) -> Remote {
        let envelope = CloudEnvelope(reading: entry)
        do throws(StorageError) {
            return Remote(entry: entry, envelope: envelope, stored: .success(try envelope.value.map(key.stored)))
        } catch {
            return Remote(entry: entry, envelope: envelope, stored: .failure(error))
        }
    }

    /// Marks the edits that the cloud does not have as not pushed.
    private mutating func markDiscarded() {
        for name in names {
            guard let register = registers[name], !register.isUnreadable, let stamp = register.stamp else { continue }
            if register.remote.map({ $0.envelope.time < stamp.time }) ?? true { registers[name]?.stamp?.isPushed = false }
        }
    }

    private mutating func reconcile() -> [Action] {
        names.flatMap { reconcile($0) }
    }

    private mutating func reconcile(_ name: String) -> [Action] {
        guard let register = registers[name] else { return [] }
        if register.isUnreadable {
            return tell(.rejected(.unmirrored(key: name, reason: "its value in the cloud cannot be read")), name) + note(name)
        }
        guard let remote = register.remote else {
            guard let stamp = register.stamp else { return note(name) }
            if !stamp.isPushed { return push(name) }
            // A mirror never removes an entry: the cloud is another account's, or was emptied.
            registers[name]?.stamp = nil
            return note(name)
        }
        let time = remote.envelope.time
        guard case .success(let stored) = remote.stored else {
            if let stamp = register.stamp, stamp.time > time { return push(name) }
            guard case .failure(let error) = remote.stored else { return [] }
            return tell(.rejected(error), name) + note(name)
        }
        if let stamp = register.stamp, stamp.time >= time, time > 0 || stamp.time > 0 {
            let isEqual = stamp.time == time && stored == register.value
            if !isEqual, stamp.time > time || CloudEnvelope.isPreferred(register.value, over: remote.envelope.value) { return push(name) }
        }
        let stamp = CloudStamp(time, isPushed: true)
        registers[name]?.stamp = stamp
        registers[name]?.reported = nil
        if stored == register.value { return note(name) }
        registers[name]?.replaced = (register.value, register.notedStamp)
        registers[name]?.value = stored
        registers[name]?.notedStamp = stamp
        return [.pull(name, from: register.value, to: stored, stamp)]
    }

    private mutating func push(_ name: String) -> [Action] {
        guard let register = registers[name], let stamp = register.stamp else { return [] }
        let envelope = CloudEnvelope(register.value, at: stamp.time)
        let isRemoval = register.value == nil
        if register.isUnreadable || isDownloading || fullSize != nil && !isRemoval { return hold(name) }
        let entry = envelope.entry
        if let obstacle = CloudLimits.obstacle(to: entry, named: name, beside: sizes) {
            return hold(name) + tell(.refused(key: name, reason: obstacle), name)
        }
        sizes[name] = CloudLimits.size(of: entry, named: name)
        registers[name]?.remote = Remote(entry: entry, envelope: envelope, stored: .success(register.value))
        registers[name]?.stamp?.isPushed = true
        registers[name]?.reported = nil
        let actions = [.push(name, entry)] + note(name)
        guard isRemoval, fullSize != nil else { return actions }
        // There is room again.
        fullSize = nil
        return actions + reconcile()
    }

    private mutating func hold(_ name: String) -> [Action] {
        registers[name]?.stamp?.isPushed = false
        return note(name)
    }

    private mutating func note(_ name: String) -> [Action] {
        guard let register = registers[name], register.stamp != register.notedStamp else { return [] }
        registers[name]?.notedStamp = register.stamp
        return [.note(name, register.stamp)]
    }

    private mutating func tell(_ event: CloudMirror.Event, _ name: String) -> [Action] {
        guard registers[name]?.reported != event else { return [] }
        registers[name]?.reported = event
        return [.tell(event)]
    }
}
