import Foundation
import Testing

@testable import ObservableStorage

@Suite("Files beside a property list") struct SidecarTests {
    @Test("A short name is kept whole")
    func short() {
        let list = ResolvedPath("app.plist", in: "/")
        #expect(list.lockFile.name == ".app.plist.lock")
        #expect(list.temporaryFile(process: 12, random: 0xff).name == ".app.plist.12-ff.tmp")
        #expect(list.process(ofTemporary: ".app.plist.12-ff.tmp") == 12)
    }

    @Test("The longest names fit, whatever the letters", arguments: ["a", "é", "€", "🧭", "e\u{301}"])
    func long(_ letter: String) {
        for count in 195...255 where count.isMultiple(of: letter.utf8.count) {
            let list = ResolvedPath(String(repeating: letter, count: count / letter.utf8.count), in: "/")
            let temporary = list.temporaryFile(process: .max, random: .max).name
            #expect(temporary.utf8.count <= 255)
            #expect(list.lockFile.name.utf8.count <= 255)
            #expect(list.process(ofTemporary: temporary) == .max)
            let quarantine = list.quarantine(at: Date(timeIntervalSince1970: 1)).name
            #expect(quarantine.utf8.count <= 255)
            #expect(list.isQuarantine(quarantine))
        }
    }

    @Test("Long names that begin alike have locks of their own, the same in every process")
    func stable() {
        let start = String(repeating: "a", count: 250)
        #expect(ResolvedPath(start + "1", in: "/").lockFile.name != ResolvedPath(start + "2", in: "/").lockFile.name)
        #expect(ResolvedPath(start, in: "/").lockFile.name == ".\(String(repeating: "a", count: 183))~924785600b73a84f.lock")
    }

    @Test("Names that differ in normalization are not mixed up")
    func normalization() {
        let temporary = ResolvedPath("é", in: "/").temporaryFile(process: 1, random: 1).name
        #expect(ResolvedPath("é", in: "/").process(ofTemporary: temporary) == 1)
        #expect(ResolvedPath("e\u{301}", in: "/").process(ofTemporary: temporary) == nil)
        let quarantine = ResolvedPath("é", in: "/").quarantine(at: Date(timeIntervalSince1970: 1)).name
        #expect(ResolvedPath("é", in: "/").isQuarantine(quarantine))
        #expect(!ResolvedPath("e\u{301}", in: "/").isQuarantine(quarantine))
    }
}
