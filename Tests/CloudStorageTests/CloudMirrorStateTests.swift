@testable import CloudStorage
import ObservableStorage
import PropertyListCoding
import Testing

@Suite("Mirroring as a state machine", .timeLimit(.minutes(10)))
struct CloudMirrorStateTests {
    private typealias Cloud = [String: PropertyListValue]

    private func entry(_ value: PropertyListValue?, at time: Int64) -> PropertyListValue {
        CloudEnvelope(value, at: time).entry
    }

    private func stamp(_ time: Int64, isPushed: Bool = true) -> CloudStamp {
        CloudStamp(time, isPushed: isPushed)
    }

    /// A mirror of `a` that has begun, and the actions with which it did.
    private func started(
        _ value: PropertyListValue? = nil, _ stamp: CloudStamp? = nil, cloud: [String: PropertyListValue?] = [:],
        key: MirroredKey = MirroredKey(name: "a")
    ) -> (CloudMirrorState, [CloudMirrorState.Action]) {
        var state = CloudMirrorState([key])
        var (values, stamps): (Cloud, [String: CloudStamp]) = ([:], [:])
        values[key.name] = value
        stamps[key.name] = stamp
        let actions = state.handle(.started(values: values, stamps: stamps, cloud: cloud), now: 100)
        return (state, actions)
    }

    private func edit(_ value: PropertyListValue?, _ stamp: CloudStamp? = nil, isMigration: Bool = false) -> CloudMirrorState.Input {
        .localChanged("a", value, stamp, isMigration: isMigration)
    }

    @Test("A pull that finds the pulled value notes its time; one that finds another value leaves it to the edit that follows")
    func missedPull() {
        for (time, actions) in [
            (200, [.push("a", entry(3, at: 200)), .setStamp("a", stamp(200))]), (60, [.pull("a", from: 3, to: 1, stamp(70))]),
        ] as [(Int64, [CloudMirrorState.Action])] {
            var (state, pull) = started(2, nil, cloud: ["a": entry(1, at: 70)])
            #expect(pull == [.pull("a", from: 2, to: 1, stamp(70))])
            var other = state
            #expect(other.handle(.pullSkipped("a", 1), now: 300) == [.setStamp("a", stamp(70))])
            #expect(state.handle(.pullSkipped("a", 3), now: 300) == [])
            // The edit was made before the value in the cloud was known here: the later one counts.
            #expect(state.handle(edit(3), now: time) == actions)
        }
    }

    @Test("A pull that is given up for an edit of another process is repeated, or followed by that edit; one that was stored was replaced")
    func pullGivenUp() {
        let pull = CloudMirrorState.Action.pull("a", from: 1, to: 2, stamp(10))
        func change(to value: PropertyListValue?, after first: CloudStamp?, isStored: Bool = false) -> [CloudMirrorState.Action] {
            var (state, actions) = started(1, first, cloud: ["a": entry(2, at: 10)])
            #expect(actions == [pull])
            if isStored { #expect(state.handle(.stored(["a": 2]), now: 150) == []) }
            return state.handle(.localChanged("a", value, first, isMigration: false, isExternal: true), now: 200)
        }
        for first in [nil, stamp(5)] {
            #expect(change(to: 1, after: first) == [pull])
            #expect(change(to: 3, after: first) == [.push("a", entry(3, at: 200)), .setStamp("a", stamp(200))])
        }
        #expect(change(to: 3, after: nil, isStored: true) == [.pull("a", from: 3, to: 2, stamp(10))])
    }

    @Test("The time of an earlier value, which another mirror of the file knows, is not that of a value set since")
    func timeOfEarlierValue() {
        var (state, _) = started(1, stamp(5), cloud: ["a": entry(1, at: 5)])
        var time = stamp(300)
        time.isOfValue = false
        #expect(state.handle(edit(2, time), now: 200) == [.push("a", entry(2, at: 301)), .setStamp("a", stamp(301))])
        #expect(state.handle(edit(3, stamp(400)), now: 200) == [])
    }

    @Test("A fresh install pulls what the cloud has, over a value that no mirror knows")
    func freshInstall() {
        #expect(started(nil, nil, cloud: ["a": entry(1, at: 5)]).1 == [.pull("a", from: nil, to: 1, stamp(5))])
        #expect(started(2, nil, cloud: ["a": entry(1, at: 5)]).1 == [.pull("a", from: 2, to: 1, stamp(5))])
        #expect(started(2, nil, cloud: ["a": entry(nil, at: 5)]).1 == [.pull("a", from: 2, to: nil, stamp(5))])
    }

    @Test("A value without a time is not pushed, even to an empty cloud")
    func unknownValue() {
        var (state, actions) = started(2)
        #expect(actions == [])
        #expect(state.handle(.cloudChanged(.serverChange, [:]), now: 101) == [])
    }

    @Test("An unset key is not pushed, and a removal that was not pushed yet is")
    func unset() {
        #expect(started(nil).1 == [])
        #expect(started(nil, stamp(5, isPushed: false)).1 == [.push("a", entry(nil, at: 5)), .setStamp("a", stamp(5))])
    }

    @Test("An edit is pushed with the present time, in one entry with the value")
    func edit() {
        var (state, _) = started()
        #expect(state.handle(edit(1), now: 200) == [.push("a", entry(1, at: 200)), .setStamp("a", stamp(200))])
        #expect(state.handle(edit(nil), now: 201) == [.push("a", entry(nil, at: 201)), .setStamp("a", stamp(201))])
    }

    @Test("The newer edit wins, whichever side has it")
    func newest() {
        #expect(started(1, stamp(5), cloud: ["a": entry(2, at: 6)]).1 == [.pull("a", from: 1, to: 2, stamp(6))])
        #expect(started(1, stamp(7), cloud: ["a": entry(2, at: 6)]).1 == [.push("a", entry(1, at: 7))])
        #expect(started(1, stamp(5), cloud: ["a": entry(1, at: 6)]).1 == [.setStamp("a", stamp(6))])
    }

    @Test("A removal wins over an older value, and loses against a newer one")
    func removals() {
        #expect(started(1, stamp(5), cloud: ["a": entry(nil, at: 6)]).1 == [.pull("a", from: 1, to: nil, stamp(6))])
        #expect(started(nil, stamp(7), cloud: ["a": entry(1, at: 6)]).1 == [.push("a", entry(nil, at: 7))])
    }

    @Test("A value of another program wins over one without a time, and loses against an edit")
    func plainValues() {
        #expect(started(1, nil, cloud: ["a": 2]).1 == [.pull("a", from: 1, to: 2, stamp(0))])
        #expect(started(1, stamp(0), cloud: ["a": 3]).1 == [.pull("a", from: 1, to: 3, stamp(0))])
        #expect(started(1, stamp(5), cloud: ["a": 2]).1 == [.push("a", entry(1, at: 5))])
    }

    @Test("After a value from the far future, the next edit is later still")
    func future() {
        var (state, actions) = started(1, stamp(5), cloud: ["a": entry(2, at: 9_000)])
        #expect(actions == [.pull("a", from: 1, to: 2, stamp(9_000))])
        #expect(state.handle(edit(3), now: 200) == [.push("a", entry(3, at: 9_001)), .setStamp("a", stamp(9_001))])
    }

    @Test("After the latest time that there is, edits have that time as well")
    func latestTime() {
        let latest = CloudEnvelope.latest
        var (state, _) = started(1, stamp(latest), cloud: ["a": entry(1, at: latest)])
        #expect(state.handle(edit(2), now: .max).first == .push("a", entry(2, at: latest)))
    }

    @Test("An edit is later than the one it replaces, even if the clock was set back")
    func clockSetBack() {
        var (state, _) = started(1, stamp(500), cloud: ["a": entry(1, at: 500)])
        #expect(state.handle(edit(2), now: 100).first == .push("a", entry(2, at: 501)))
    }

    @Test("Of different values of the same time, every device keeps the same one")
    func sameTime() {
        for (mine, other) in [(1, 2), (2, 1)] as [(PropertyListValue, PropertyListValue)] {
            var (state, _) = started()
            _ = state.handle(edit(mine), now: 200)
            let actions = state.handle(.cloudChanged(.serverChange, ["a": entry(other, at: 200)]), now: 201)
            let isOther = CloudEnvelope.isPreferred(other, over: mine)
            #expect(actions == [isOther ? .pull("a", from: mine, to: other, stamp(200)) : .push("a", entry(mine, at: 200))])
        }
    }

    @Test("An echo of an own push, a repeated notification, and an echo of a pull do nothing")
    func echoes() {
        var (state, _) = started(nil, nil, cloud: ["a": entry(1, at: 5)])
        #expect(state.handle(edit(1, stamp(5)), now: 200) == [])
        _ = state.handle(edit(2), now: 201)
        for _ in 1...2 { #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(2, at: 201)]), now: 202) == []) }
    }

    @Test("An edit that the cloud replaced by an older one is pushed again")
    func healing() {
        var (state, _) = started()
        _ = state.handle(edit(2), now: 200)
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(1, at: 150)]), now: 201) == [.push("a", entry(2, at: 200))])
    }

    @Test("An edit that was made while no mirror ran counts as made right after the last common value")
    func unseenEdit() {
        #expect(started(2, stamp(5), cloud: ["a": entry(1, at: 5)]).1 == [.push("a", entry(2, at: 6)), .setStamp("a", stamp(6))])
        #expect(started(2, stamp(5), cloud: ["a": entry(1, at: 6)]).1 == [.pull("a", from: 2, to: 1, stamp(6))])
        #expect(started(nil, stamp(5), cloud: ["a": entry(1, at: 5)]).1 == [.push("a", entry(nil, at: 6)), .setStamp("a", stamp(6))])
    }

    @Test("A default that reading has written is not pushed, neither at once nor after a removal")
    func persistedDefault() {
        let key = MirroredKey(name: "a", persistedDefault: 9)
        var (state, _) = started(key: key)
        #expect(state.handle(edit(9), now: 200) == [])
        #expect(state.handle(edit(1), now: 201).first == .push("a", entry(1, at: 201)))
        #expect(state.handle(edit(9), now: 202).first == .push("a", entry(9, at: 202)))
        _ = state.handle(edit(nil), now: 203)
        #expect(state.handle(edit(9), now: 204) == [.setStamp("a", nil)])
        #expect(started(9, stamp(5), cloud: ["a": entry(nil, at: 5)], key: key).1 == [.pull("a", from: 9, to: nil, stamp(5))])
    }

    @Test("A migration is no edit: the same value in a newer form keeps its time")
    func migration() {
        let key = MirroredKey(name: "a") { value in value == "1" ? 1 : value }
        var (state, _) = started(nil, nil, cloud: ["a": entry("1", at: 5)], key: key)
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry("1", at: 5)]), now: 200) == [])
        let later = MirroredKey(name: "a") { value in value == "2" ? 2 : value }
        (state, _) = started("1", stamp(5), cloud: ["a": entry("1", at: 5)], key: later)
        #expect(state.handle(edit("2", isMigration: true), now: 4).first == .push("a", entry("2", at: 6)))
        #expect(state.handle(edit(2, isMigration: true), now: 200) == [])
        (state, _) = started()
        #expect(state.handle(edit(1, isMigration: true), now: 200) == [])
        (state, _) = started()
        #expect(state.handle(edit(1, isMigration: true), now: 200) == [])
    }

    @Test("Another value that a migration sets is not pulled back, and counts as made right after the value that it replaces")
    func migratedValue() {
        var (state, _) = started(1, stamp(5), cloud: ["a": entry(1, at: 5)])
        #expect(state.handle(edit(0, isMigration: true), now: 200) == [.push("a", entry(0, at: 6)), .setStamp("a", stamp(6))])
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(0, at: 6)]), now: 201) == [])
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(1, at: 5)]), now: 202) == [.push("a", entry(0, at: 6))])
        (state, _) = started(1)
        #expect(state.handle(edit(0, isMigration: true), now: 200) == [])
    }

    @Test("The start of the first download holds pushes until a delay is over, and pushes what was discarded")
    func initialSync() {
        var (state, _) = started()
        _ = state.handle(edit(1), now: 200)
        #expect(
            state.handle(.cloudChanged(.initialSync, [:]), now: 201) == [
                .report(.downloadBegan), .setStamp("a", stamp(200, isPushed: false)), .readLater,
            ])
        #expect(state.handle(edit(2), now: 202) == [.setStamp("a", stamp(202, isPushed: false))])
        #expect(state.handle(.cloudChanged(.serverChange, [:]), now: 203) == [])
        #expect(state.handle(.delayEnded([:]), now: 204) == [.push("a", entry(2, at: 202)), .setStamp("a", stamp(202))])
    }

    @Test("What arrives with the first download is pulled if it is newer")
    func download() {
        var (state, _) = started(1, stamp(5), cloud: ["a": entry(1, at: 5)])
        _ = state.handle(.cloudChanged(.initialSync, ["a": entry(1, at: 5)]), now: 200)
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(3, at: 6)]), now: 201) == [.pull("a", from: 1, to: 3, stamp(6))])
        #expect(state.handle(.delayEnded(["a": entry(3, at: 6)]), now: 202) == [])
    }

    @Test("The values of an account are not pushed to another one until they are edited")
    func accountChange() {
        var (state, _) = started(1, stamp(5), cloud: ["a": entry(1, at: 5)])
        #expect(state.handle(.cloudChanged(.accountChange, [:]), now: 200) == [.report(.accountChanged), .setStamp("a", nil)])
        #expect(state.handle(.cloudChanged(.serverChange, [:]), now: 201) == [])
        #expect(state.handle(edit(2), now: 202).first == .push("a", entry(2, at: 202)))
        (state, _) = started(1, stamp(500), cloud: ["a": entry(1, at: 500)])
        #expect(
            state.handle(.cloudChanged(.accountChange, ["a": entry(7, at: 3)]), now: 600) == [
                .report(.accountChanged), .pull("a", from: 1, to: 7, stamp(3)),
            ])
    }

    @Test("A value that the cloud had and has no more is not pushed: it is another account's cloud, or was emptied")
    func emptied() {
        #expect(started(1, stamp(5)).1 == [.setStamp("a", nil)])
        #expect(started(1, stamp(5, isPushed: false)).1 == [.push("a", entry(1, at: 5)), .setStamp("a", stamp(5))])
    }

    @Test("After the quota is exceeded nothing is pushed until something is removed")
    func quota() {
        var state = CloudMirrorState([MirroredKey(name: "a"), MirroredKey(name: "b")])
        let cloud: Cloud = ["b": entry(1, at: 5)]
        _ = state.handle(.started(values: ["b": 1], stamps: ["b": stamp(5)], cloud: cloud), now: 100)
        _ = state.handle(edit(2), now: 200)
        #expect(
            state.handle(.cloudChanged(.quotaViolation, cloud), now: 201) == [
                .report(.quotaExceeded), .setStamp("a", stamp(200, isPushed: false)),
            ])
        #expect(state.handle(edit(3), now: 202) == [.setStamp("a", stamp(202, isPushed: false))])
        #expect(state.handle(.cloudChanged(.serverChange, cloud), now: 203) == [])
        var other = state
        #expect(
            state.handle(.localChanged("b", nil, nil, isMigration: false), now: 204) == [
                .push("b", entry(nil, at: 204)), .setStamp("b", stamp(204)), .push("a", entry(3, at: 202)), .setStamp("a", stamp(202)),
            ])
        #expect(
            other.handle(.cloudChanged(.serverChange, ["b": entry(nil, at: 204)]), now: 205) == [
                .push("a", entry(3, at: 202)), .setStamp("a", stamp(202)), .pull("b", from: 1, to: nil, stamp(204)),
            ])
    }

    @Test("A name that is too long is refused before anything is pushed, and so is a key that cannot be mirrored")
    func refusedKeys() {
        let long = String(repeating: "a", count: 65)
        var (state, actions) = started(1, stamp(5), key: MirroredKey(name: long))
        #expect(actions == [.report(.refused(key: long, reason: "its name has 65 bytes, and iCloud allows 64"))])
        #expect(state.handle(.localChanged(long, 2, nil, isMigration: false), now: 200) == [])
        #expect(started(key: MirroredKey(name: "a", obstacle: "no")).1 == [.report(.refused(key: "a", reason: "no"))])
    }

    @Test("A value that is too large is refused, told once, and pushed when it is smaller")
    func refusedValue() {
        var (state, _) = started()
        let large = PropertyListValue.string(String(repeating: "x", count: 1_000_001))
        let actions = state.handle(edit(large), now: 200)
        guard case .setStamp("a", stamp(200, isPushed: false)) = actions.first, case .report(.refused("a", _)) = actions.last else {
            Issue.record("\(actions.count) actions")
            return
        }
        #expect(state.handle(.cloudChanged(.serverChange, [:]), now: 201) == [])
        #expect(state.handle(edit(1), now: 202) == [.push("a", entry(1, at: 202)), .setStamp("a", stamp(202))])
    }

    @Test("A value of another type is rejected and told once; the own one is kept, and pushed after the next edit")
    func rejected() {
        let error = StorageError.undecodable(key: "a", expected: "Int", found: "string")
        let key = MirroredKey(name: "a") { value throws(StorageError) in
            guard case .integer = value else { throw error }
            return value
        }
        var (state, actions) = started(1, stamp(5), cloud: ["a": entry("x", at: 6)], key: key)
        #expect(actions == [.report(.rejected(error))])
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry("x", at: 6)]), now: 200) == [])
        #expect(state.handle(edit(2), now: 3).first == .push("a", entry(2, at: 7)))
    }

    @Test("A value that cannot be read is told once, is neither replaced nor pulled, and hides no other")
    func unreadable() {
        let told = CloudMirrorState.Action.report(.rejected(.unmirrored(key: "a", reason: "its value in the cloud cannot be read")))
        #expect(started(1, stamp(5, isPushed: false), cloud: ["a": nil]).1 == [told])
        var state = CloudMirrorState([MirroredKey(name: "a"), MirroredKey(name: "b")])
        let cloud: [String: PropertyListValue?] = ["a": nil, "b": entry(2, at: 6)]
        let begin = CloudMirrorState.Input.started(values: ["a": 1, "b": 1], stamps: ["a": stamp(5), "b": stamp(5)], cloud: cloud)
        #expect(state.handle(begin, now: 100) == [told, .pull("b", from: 1, to: 2, stamp(6))])
        #expect(state.handle(.cloudChanged(.serverChange, cloud), now: 101) == [])
        #expect(state.handle(.uploadExisting, now: 102) == [])
        #expect(state.handle(edit(3), now: 200) == [.setStamp("a", stamp(200, isPushed: false))])
        var older = state
        let readable = { (entry: PropertyListValue) in cloud.merging(["a": entry]) { $1 } }
        #expect(
            state.handle(.cloudChanged(.serverChange, readable(entry(4, at: 300))), now: 201) == [
                .pull("a", from: 3, to: 4, stamp(300))
            ])
        #expect(
            older.handle(.cloudChanged(.serverChange, readable(entry(4, at: 100))), now: 201) == [
                .push("a", entry(3, at: 200)), .setStamp("a", stamp(200)),
            ])
    }

    @Test("A file that another process deletes or replaces together with the times gets the values of the cloud, and pushes nothing")
    func deletedFile() {
        let cloud: Cloud = ["a": entry(1, at: 5)]
        for value in [nil, 7] as [PropertyListValue?] {
            var (state, _) = started(1, stamp(5), cloud: cloud)
            let deletion = CloudMirrorState.Input.localChanged("a", value, nil, isMigration: false, isExternal: true)
            #expect(state.handle(deletion, now: 200) == [.pull("a", from: value, to: 1, stamp(5))])
        }
        var (state, _) = started(1, stamp(5), cloud: cloud)
        let removal = CloudMirrorState.Input.localChanged("a", nil, stamp(5), isMigration: false, isExternal: true)
        #expect(state.handle(removal, now: 200) == [.push("a", entry(nil, at: 200)), .setStamp("a", stamp(200))])
    }

    @Test("An edit whose time another mirror of the same file has stored is not pushed twice")
    func sameFile() {
        var (state, _) = started(1, stamp(5), cloud: ["a": entry(1, at: 5)])
        #expect(state.handle(edit(2, stamp(150)), now: 200) == [])
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(2, at: 150)]), now: 201) == [])
    }

    @Test("Values from before the program mirrored them are pushed on request, where the cloud has none, and every edit wins over them")
    func uploading() {
        var (state, _) = started(1)
        #expect(state.handle(.uploadExisting, now: 200) == [.push("a", entry(1, at: 0)), .setStamp("a", stamp(0))])
        #expect(state.handle(.cloudChanged(.serverChange, ["a": entry(2, at: 3)]), now: 201) == [.pull("a", from: 1, to: 2, stamp(3))])
        #expect(state.handle(.uploadExisting, now: 202) == [])
        (state, _) = started(nil)
        #expect(state.handle(.uploadExisting, now: 200) == [])
    }

    @Test("Other entries of the cloud are left alone, and a key that is given twice is one")
    func others() {
        var state = CloudMirrorState([MirroredKey(name: "a"), MirroredKey(name: "a")])
        let actions = state.handle(.started(values: [:], stamps: [:], cloud: ["b": 1, "a": entry(1, at: 5)]), now: 100)
        #expect(actions == [.pull("a", from: nil, to: 1, stamp(5))])
        #expect(state.handle(.localChanged("b", 1, nil, isMigration: false), now: 200) == [])
    }
}
