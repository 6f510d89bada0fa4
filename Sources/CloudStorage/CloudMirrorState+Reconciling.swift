import ObservableStorage

// MARK: - Comparing both sides
extension CloudMirrorState {
    mutating func merge(_ cloud: [String: PropertyListValue?]) -> [Action] {
        read(cloud)
        if let size = fullSize, sizes.values.reduce(0, +) < size { fullSize = nil }
        return reconcile()
    }

    mutating func read(_ cloud: [String: PropertyListValue?]) {
        sizes = cloud.reduce(into: [:]) { sizes, entry in
            sizes[entry.key] = entry.value.flatMap { CloudLimits.size(of: $0, named: entry.key) } ?? 0
        }
        for name in names {
            let entry = cloud[name]
            registers[name]?.isUnreadable = entry == .some(nil)
            guard let register = registers[name], !register.isUnreadable else { continue }
            let envelope = (entry ?? nil).map { CloudEnvelope(reading: $0) }
            if register.remote?.envelope == envelope { continue }
            registers[name]?.remote = envelope.map { envelope in
                (envelope, Result { () throws(StorageError) in try envelope.value.map(register.key.stored) })
            }
        }
    }

    /// Marks the edits that are missing in the cloud as not pushed.
    mutating func markDiscarded() {
        for name in names {
            guard let register = registers[name], !register.isUnreadable, let stamp = register.stamp else { continue }
            if register.remote.map({ $0.envelope.time < stamp.time }) ?? true { registers[name]?.stamp?.isPushed = false }
        }
    }

    mutating func reconcile() -> [Action] {
        names.flatMap { reconcile($0) }
    }

    mutating func reconcile(_ name: String) -> [Action] {
        guard let register = registers[name] else { return [] }
        if register.isUnreadable {
            return report(.rejected(.unmirrored(key: name, reason: "its value in the cloud cannot be read")), name) + storeStamp(name)
        }
        guard let remote = register.remote else {
            guard let stamp = register.stamp else { return storeStamp(name) }
            if !stamp.isPushed { return push(name) }
            // No mirror removes an entry: the cloud belongs to another account, or was emptied.
            registers[name]?.stamp = nil
            return storeStamp(name)
        }
        let time = remote.envelope.time
        guard case .success(let stored) = remote.stored else {
            if let stamp = register.stamp, stamp.time > time { return push(name) }
            guard case .failure(let error) = remote.stored else { return [] }
            return report(.rejected(error), name) + storeStamp(name)
        }
        if let stamp = register.stamp, stamp.time >= time, time > 0 || stamp.time > 0 {
            let isEqual = stamp.time == time && stored == register.value
            if !isEqual, stamp.time > time || CloudEnvelope.isPreferred(register.value, over: remote.envelope.value) { return push(name) }
        }
        let stamp = CloudStamp(time, isPushed: true)
        registers[name]?.stamp = stamp
        registers[name]?.reported = nil
        if stored == register.value { return storeStamp(name) }
        registers[name]?.replaced = (register.value, register.storedStamp)
        registers[name]?.value = stored
        registers[name]?.storedStamp = stamp
        return [.pull(name, from: register.value, to: stored, stamp)]
    }

    mutating func push(_ name: String) -> [Action] {
        guard let register = registers[name], let stamp = register.stamp else { return [] }
        let envelope = CloudEnvelope(register.value, at: stamp.time)
        let isRemoval = register.value == nil
        if register.isUnreadable || isDownloading || fullSize != nil && !isRemoval { return postpone(name) }
        let entry = envelope.entry
        if let obstacle = CloudLimits.obstacle(to: entry, named: name, beside: sizes) {
            return postpone(name) + report(.refused(key: name, reason: obstacle), name)
        }
        sizes[name] = CloudLimits.size(of: entry, named: name)
        registers[name]?.remote = (envelope, .success(register.value))
        registers[name]?.stamp?.isPushed = true
        registers[name]?.reported = nil
        let actions = [.push(name, entry)] + storeStamp(name)
        guard isRemoval, fullSize != nil else { return actions }
        // The removal has made room.
        fullSize = nil
        return actions + reconcile()
    }

    private mutating func postpone(_ name: String) -> [Action] {
        registers[name]?.stamp?.isPushed = false
        return storeStamp(name)
    }

    mutating func storeStamp(_ name: String) -> [Action] {
        guard let register = registers[name], register.stamp != register.storedStamp else { return [] }
        registers[name]?.storedStamp = register.stamp
        return [.setStamp(name, register.stamp)]
    }

    private mutating func report(_ event: CloudMirror.Event, _ name: String) -> [Action] {
        guard registers[name]?.reported != event else { return [] }
        registers[name]?.reported = event
        return [.report(event)]
    }
}
