import Foundation
import Testing

@testable import ObservableStorage

@Suite("Names of sidecar files") struct SidecarNamesTests {
    @Test("A short name is kept complete")
    func short() {
        let names = SidecarNames(of: "app.plist")
        #expect(names.lock == ".app.plist.lock")
        #expect(names.temporary(process: 12, random: 0xff) == ".app.plist.12-ff.tmp")
        #expect(names.process(ofTemporary: ".app.plist.12-ff.tmp") == 12)
    }

    @Test("The longest names fit, whatever their characters", arguments: ["a", "é", "€", "🧭", "e\u{301}"])
    func long(_ letter: String) {
        for count in 195...255 where count.isMultiple(of: letter.utf8.count) {
            let names = SidecarNames(of: String(repeating: letter, count: count / letter.utf8.count))
            let temporary = names.temporary(process: .max, random: .max)
            #expect(temporary.utf8.count <= 255)
            #expect(names.lock.utf8.count <= 255)
            #expect(names.process(ofTemporary: temporary) == .max)
        }
    }

    @Test("Long names with the same prefix have different locks, the same in every process")
    func stable() {
        let start = String(repeating: "a", count: 250)
        #expect(SidecarNames(of: start + "1").lock != SidecarNames(of: start + "2").lock)
        #expect(SidecarNames(of: start).lock == ".\(String(repeating: "a", count: 183))~924785600b73a84f.lock")
    }

    @Test("Names that differ in normalization are distinct")
    func normalization() {
        let temporary = SidecarNames(of: "é").temporary(process: 1, random: 1)
        #expect(SidecarNames(of: "é").process(ofTemporary: temporary) == 1)
        #expect(SidecarNames(of: "e\u{301}").process(ofTemporary: temporary) == nil)
    }
}
