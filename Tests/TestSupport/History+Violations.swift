import ObservableStorage
import PropertyListCoding

extension History {
    /// All violated rules, with their locations.
    public var violations: [Violation] {
        replayViolations + writeViolations + otherViolations + views.flatMap(violations) + readings.flatMap(violations)
    }

    private func broken(_ rule: Violation.Rule, _ place: String) -> Violation {
        Violation(rule: rule, place: place)
    }

    /// Applies each change to the initial entries.
    private var replayViolations: [Violation] {
        var found: [Violation] = []
        var entries = start
        var revision: UInt64 = 0
        var changed: Set<String> = []
        for step in changes {
            let place = "\(step.key) at revision \(step.revision)"
            if step.revision < revision { found.append(broken(.order, "\(place) after \(revision)")) }
            if step.revision != revision {
                found += tornGroup(in: entries, at: revision)
                (revision, changed) = (step.revision, [])
            }
            if !changed.insert(step.key).inserted { found.append(broken(.once, "\(place) changes twice")) }
            if step.oldValue != entries[step.key] || step.oldValue == step.newValue {
                found.append(broken(.chain, "\(place) from \(step.oldValue as Any), which was \(entries[step.key] as Any)"))
            }
            if (step.kind == .removed) != (step.newValue == nil) { found.append(broken(.chain, "\(place) is \(step.kind)")) }
            entries[step.key] = step.newValue
        }
        found += tornGroup(in: entries, at: revision)
        for key in Set(entries.keys).union(end.keys) where entries[key] != end[key] {
            found.append(broken(.lastValue, "\(key) is \(end[key] as Any) in the end, and was last seen as \(entries[key] as Any)"))
        }
        return found
    }

    private func tornGroup(in entries: [String: PropertyListValue], at revision: UInt64) -> [Violation] {
        let isWhole = group.allSatisfy { entries[$0] == entries[group[0]] }
        return isWhole ? [] : [broken(.atomicity, "revision \(revision) leaves \(group.map { entries[$0] as Any })")]
    }

    /// Finds each write of the store's own writers.
    private var writeViolations: [Violation] {
        var found: [Violation] = []
        let byMark = Dictionary(grouping: changes.indices, by: { Mark(changes[$0].newValue) })
        let countByRevision = Dictionary(grouping: changes, by: \.revision).mapValues(\.count)
        for (writer, writes) in writes {
            var revision: UInt64 = 0
            for write in writes {
                let place = "\(writer)'s write \(write.mark.number) of \(write.keys)"
                let steps = (byMark[write.mark] ?? []).map { changes[$0] }
                if !write.isConfirmed && steps.isEmpty { continue }
                if Set(steps.map(\.key)) != Set(write.keys) {
                    found.append(broken(.completeness, "\(place) is seen as \(steps.map(\.key))"))
                }
                if steps.count > Set(steps.map(\.key)).count { found.append(broken(.once, "\(place) is seen \(steps.count) times")) }
                if Set(steps.map(\.revision)).count > 1 { found.append(broken(.atomicity, "\(place) has several revisions")) }
                // One that is told as another writer's comes when it is found, together with others.
                guard write.isConfirmed, let first = steps.first else { continue }
                if countByRevision[first.revision] != steps.count {
                    found.append(broken(.atomicity, "\(place) shares revision \(first.revision) with others"))
                }
                if first.revision <= revision { found.append(broken(.order, "\(place) is seen before the one before it")) }
                if steps.contains(where: { $0.origin != .local }) {
                    found.append(broken(.origin, "\(place) is not seen as local"))
                }
                revision = first.revision
            }
        }
        return found
    }

    /// Checks the observed writes of other stores.
    private var otherViolations: [Violation] {
        var found: [Violation] = []
        var last: [String: Int] = [:]
        for step in changes {
            guard let value = step.newValue else { continue }
            guard let mark = Mark(value), writes[mark.writer] != nil || others.contains(mark.writer) else {
                found.append(broken(.origin, "nobody wrote \(value), seen at revision \(step.revision)"))
                continue
            }
            guard others.contains(mark.writer) else { continue }
            let place = "\(mark.writer)'s write \(mark.number) of \(step.key)"
            if step.origin != .external { found.append(broken(.origin, "\(place) is seen as \(step.origin)")) }
            // Of another store's writes, only the newest is observed, but never an older one after it.
            let before = last.updateValue(mark.number, forKey: "\(mark.writer) \(step.key)") ?? 0
            if mark.number == before { found.append(broken(.once, "\(place) is seen again")) }
            if mark.number < before { found.append(broken(.order, "\(place) is seen after \(before)")) }
        }
        return found
    }

    private func violations(of view: View) -> [Violation] {
        let whole = changes.filter { $0.key == view.key }
        var seen = view.changes[...]
        var next = 0
        if view.hasInitial {
            guard let initial = seen.popFirst() else {
                return view.isToEnd ? [broken(.completeness, "\(view.name) has no initial value")] : []
            }
            next = whole.firstIndex { $0.revision > initial.revision } ?? whole.count
            let value = next == 0 ? start[view.key] : whole[next - 1].newValue
            if initial.newValue != value || initial.oldValue != value {
                return [broken(.chain, "\(view.name) begins with \(initial.newValue as Any), not \(value as Any)")]
            }
        } else if let first = seen.first, !view.isFromStart {
            next = whole.firstIndex { $0.revision >= first.revision } ?? whole.count
        }
        for (position, step) in seen.enumerated() {
            guard next < whole.count, whole[next] == step else {
                let isRepeated = view.changes[..<(seen.startIndex + position)].contains(step)
                let rule: Violation.Rule = isRepeated ? .once : !whole.contains(step) ? .origin : .completeness
                return [broken(rule, "\(view.name) sees revision \(step.revision) as its change \(position) of \(view.key)")]
            }
            next += 1
        }
        // One that was added later and observed nothing may have been added after all changes.
        let mayHaveMissed = !view.hasInitial && !view.isFromStart && seen.isEmpty
        if view.isToEnd, next < whole.count, !mayHaveMissed {
            return [broken(.lastValue, "\(view.name) misses the last \(whole.count - next) changes of \(view.key)")]
        }
        return []
    }

    private func violations(of reading: Reading) -> [Violation] {
        let whole = [start[reading.key]] + changes.filter { $0.key == reading.key }.map(\.newValue)
        var rest = whole[...]
        for (position, value) in reading.values.enumerated() {
            guard let place = rest.firstIndex(of: value) else {
                let rule: Violation.Rule = whole.contains(value) ? .order : .origin
                return [broken(rule, "\(reading.name) reads \(value as Any) as its value \(position) of \(reading.key)")]
            }
            rest = rest[(place + 1)...]
        }
        if reading.isToEnd, reading.values.last != .some(end[reading.key]) {
            return [broken(.lastValue, "\(reading.name) ends on \(reading.values.last as Any), not \(end[reading.key] as Any)")]
        }
        return []
    }
}
