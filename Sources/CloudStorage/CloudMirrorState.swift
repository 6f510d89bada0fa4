import ObservableStorage

/// The decisions of a mirror as a pure state machine: inputs in, actions out, without a store, a cloud or a clock.
///
/// Each key is a register whose newest edit wins. Every input compares the present values of both sides, not a list of changes, so
/// notifications may be lost, repeated or arrive in any order.
struct CloudMirrorState: Sendable {
    enum Input: Sendable {
        /// The mirror was started, with the stored values and times of its keys and all entries of the cloud (nil if unreadable).
        case started(values: [String: PropertyListValue], stamps: [String: CloudStamp], cloud: [String: PropertyListValue?])
        /// A value in the store has changed; the value and the time are the present ones. A migration is not an edit by the user. Nor is an
        /// external change that removed the time as well: the file was deleted or replaced.
        case localChanged(String, PropertyListValue?, CloudStamp?, isMigration: Bool, isExternal: Bool = false)
        /// A pulled value was not stored, and neither was its time, because the store did not have the expected value. The input has the
        /// present one. Unless that equals the pulled one, ``localChanged(_:_:_:isMigration:isExternal:)`` follows with the time of its edit.
        case pullSkipped(String, PropertyListValue?)
        /// Pulled values were written to the storage.
        case stored([String: PropertyListValue?])
        /// The cloud has changed; the input has all its entries.
        case cloudChanged(CloudChange, [String: PropertyListValue?])
        /// The delay after the start of the download has ended; the input has all entries of the cloud.
        case delayEnded([String: PropertyListValue?])
        /// Push the stored values without a time whose keys the cloud does not have.
        case uploadExisting
    }

    enum Action: Sendable, Equatable {
        /// Replace a value in the store, in memory and in the storage, if it is still the expected one, and set its time.
        case pull(String, from: PropertyListValue?, to: PropertyListValue?, CloudStamp)
        case setStamp(String, CloudStamp?)
        case push(String, PropertyListValue)
        case readLater
        case report(CloudMirror.Event)
    }

    struct Register {
        let key: MirroredKey
        var value: PropertyListValue?
        /// The time of the last edit; nil if no mirror has observed one.
        var stamp: CloudStamp?
        /// The time that the store has for the value.
        var storedStamp: CloudStamp?
        /// The entry of the cloud, with its value in the form that the store keeps, or the reason why it rejects it.
        var remote: (envelope: CloudEnvelope, stored: Result<PropertyListValue?, StorageError>)?
        /// Whether the entry of the cloud cannot be read. It may be a newer edit, so the key is neither pulled nor pushed.
        var isUnreadable = false
        /// The value and time that a pull replaces, until the pulled value is written to the storage.
        var replaced: (value: PropertyListValue?, stamp: CloudStamp?)?
        /// Whether the next edit was made without knowledge of the value in the cloud.
        var isRemoteUnseen = false
        var reported: CloudMirror.Event?

        /// A time after all known ones, even if a clock is wrong, and at most the latest that can be represented.
        func time(after now: Int64) -> Int64 {
            min(CloudEnvelope.latest, max(now, (stamp?.time ?? 0) + 1, isRemoteUnseen ? 0 : (remote?.envelope.time ?? 0) + 1))
        }
    }

    private let keys: [MirroredKey]
    var registers: [String: Register] = [:]
    var names: [String] = []
    var sizes: [String: Int] = [:]
    var isDownloading = false
    /// The size of the cloud when its quota was exceeded; nil if it has room.
    var fullSize: Int?

    init(_ keys: [MirroredKey]) {
        self.keys = keys
    }

    /// The value of a key to which the time of the last ``Action/setStamp(_:_:)`` belongs.
    func value(of name: String) -> PropertyListValue? {
        registers[name]?.value
    }

    /// Handles an input and returns the actions to perform.
    ///
    /// - Parameter now: the time of the device's clock in microseconds since 1970.
    mutating func handle(_ input: Input, now: Int64) -> [Action] {
        switch input {
        case .started(let values, let stamps, let cloud):
            return start(values, stamps, cloud)
        case .localChanged(let name, let value, let stamp, let isMigration, let isExternal):
            return change(name, to: value, stamp, isMigration: isMigration, isExternal: isExternal, now: now)
        case .pullSkipped(let name, let value):
            guard let register = registers[name] else { return [] }
            registers[name]?.storedStamp = nil
            registers[name]?.replaced = nil
            if register.value == value { return storeStamp(name) }
            guard let replaced = register.replaced else { return [] }
            // The edit was made without knowledge of the value in the cloud: the later of the two wins.
            registers[name]?.value = replaced.value
            registers[name]?.stamp = replaced.stamp
            registers[name]?.isRemoteUnseen = true
            return []
        case .stored(let values):
            for (name, value) in values where registers[name]?.value == value { registers[name]?.replaced = nil }
            return []
        case .cloudChanged(let change, let cloud):
            return self.change(change, cloud)
        case .delayEnded(let cloud):
            isDownloading = false
            return merge(cloud)
        case .uploadExisting:
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
                actions.append(.report(.refused(key: key.name, reason: obstacle)))
                continue
            }
            names.append(key.name)
            let stamp = stamps[key.name].map { CloudStamp($0.time, isPushed: $0.isPushed) }
            registers[key.name] = Register(key: key, value: values[key.name], stamp: stamp, storedStamp: stamp)
        }
        read(cloud)
        for name in names {
            guard let register = registers[name], let remote = register.remote, let stamp = register.stamp, stamp.time > 0 else { continue }
            guard remote.envelope.time == stamp.time, case .success(let stored) = remote.stored, stored != register.value else { continue }
            // An edit that no mirror has observed counts as made right after the last common value. If that was a removal, the value may be
            // a default that was stored by reading the key.
            registers[name]?.stamp = stored == nil ? nil : CloudStamp(register.time(after: 0), isPushed: false)
        }
        return actions + reconcile()
    }

    private mutating func change(
        _ name: String, to value: PropertyListValue?, _ stored: CloudStamp?, isMigration: Bool, isExternal: Bool, now: Int64
    ) -> [Action] {
        guard let register = registers[name] else { return [] }
        if let stored, stored.isOfValue, stored.time > register.stamp?.time ?? 0 {
            // Another mirror of the same file has observed the edit, and pushes it.
            registers[name]?.value = value
            registers[name]?.stamp = stored
            registers[name]?.storedStamp = stored
            registers[name]?.isRemoteUnseen = false
            return []
        }
        guard value != register.value else { return [] }
        registers[name]?.value = value
        registers[name]?.replaced = nil
        registers[name]?.isRemoteUnseen = false
        let abandonedPull = isExternal ? register.replaced.flatMap { $0.stamp?.time == stored?.time ? $0 : nil } : nil
        // A pull was abandoned because another process had edited this value, or one that was pulled together with it. Otherwise the file
        // was deleted or replaced.
        if isExternal, abandonedPull.map({ $0.value == value }) ?? (stored == nil && register.storedStamp != nil) {
            registers[name]?.stamp = stored
            registers[name]?.storedStamp = stored
            return reconcile(name)
        }
        let replaced = register.value.flatMap { upgraded($0, register.key) }
        let replacesNothing = replaced == nil
        if replacesNothing, isMigration || value == register.key.persistedDefault {
            // It is not an edit by the user.
            registers[name]?.stamp = nil
            return register.isRemoteUnseen ? reconcile(name) : storeStamp(name)
        }
        // The same value in a newer form keeps its time.
        if isMigration, register.stamp == nil || replaced == value { return register.isRemoteUnseen ? reconcile(name) : [] }
        // A different value set by a migration counts as made right after the last known one, or the cloud would restore the old one. So does
        // an edit of a value for which another mirror of the file has stored a later time.
        let known = stored.map { $0.isOfValue ? 0 : $0.time + 1 } ?? 0
        registers[name]?.stamp = CloudStamp(register.time(after: max(known, isMigration ? 0 : now)), isPushed: false)
        return register.isRemoteUnseen ? reconcile(name) : push(name)
    }

    /// A value in the present form of its type; nil if it is not a value of the key.
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
            // The system discards values that are set before the download has ended, whose end it does not report: a delay stands for it.
            isDownloading = true
            read(cloud)
            markDiscarded()
            return [.report(.downloadBegan)] + reconcile() + [.readLater]
        case .quotaViolation:
            read(cloud)
            markDiscarded()
            fullSize = sizes.values.reduce(0, +)
            return [.report(.quotaExceeded)] + reconcile()
        case .accountChange:
            // The values of the previous account stay on the device. Without times, they are not pushed until they are edited.
            (isDownloading, fullSize) = (false, nil)
            for name in names { registers[name]?.stamp = nil }
            return [.report(.accountChanged)] + merge(cloud)
        }
    }
}
