import Foundation
import TestSupport
import Testing

/// Changes of a path, step by step, with the file's content after each.
struct WatchStory: Sendable, CustomTestStringConvertible {
    /// One step, which a watcher must report.
    struct Step: Sendable {
        /// The file's content after the step; nil if there is none.
        let content: String?
        let act: @Sendable (_ folder: TemporaryFolder, _ path: String) throws -> Void

        static func writes(_ content: String) -> Step {
            Step(content: content) { try Disk.write($1, content) }
        }

        static func replaces(_ content: String) -> Step {
            Step(content: content) { try Disk.replace($1, content) }
        }

        static var removes: Step {
            Step(content: nil) { try Disk.remove($1) }
        }

        /// Another change, after which the file has this content.
        static func leaves(_ content: String?, _ act: @escaping @Sendable (TemporaryFolder) throws -> Void) -> Step {
            Step(content: content) { folder, _ in try act(folder) }
        }
    }

    let testDescription: String
    /// The path of the file in the test's folder.
    let path: String
    let prepare: @Sendable (TemporaryFolder) throws -> Void
    let steps: [Step]

    init(
        _ testDescription: String, path: String = "app.plist", _ steps: [Step],
        from prepare: @escaping @Sendable (TemporaryFolder) throws -> Void = { _ in }
    ) {
        self.testDescription = testDescription
        self.path = path
        self.prepare = prepare
        self.steps = steps
    }

    static let all: [WatchStory] = files + recreatedFolders + folders + replacedFolders + linkedFolders + names + dots

    private static let files: [WatchStory] = [
        WatchStory("writes in place", [.writes("two"), .writes("three")]) { try Disk.write($0.path("app.plist"), "one") },
        WatchStory("replacements, and writes to what replaced", [.replaces("two"), .writes("three"), .replaces("four"), .writes("five")]) {
            try Disk.write($0.path("app.plist"), "one")
        },
        WatchStory("deletions", [.removes, .writes("two"), .removes, .writes("three")]) { try Disk.write($0.path("app.plist"), "one") },
        WatchStory(
            "the file moved away and back",
            [
                .leaves(nil) { try Disk.move($0.path("app.plist"), $0.path("other")) },
                .leaves("one") { try Disk.move($0.path("other"), $0.path("app.plist")) },
            ]
        ) { try Disk.write($0.path("app.plist"), "one") },
        WatchStory(
            "another name of the file, in a folder that nobody watches",
            [
                .leaves("two") { try Disk.write($0.path("elsewhere/other"), "two") },
                .removes,
                .leaves("two") { try Disk.hardLink($0.path("app.plist"), to: $0.path("elsewhere/other")) },
                .leaves("three") { try Disk.write($0.path("elsewhere/other"), "three") },
            ]
        ) { folder in
            try Disk.makeFolder(folder.path("elsewhere"))
            try Disk.write(folder.path("app.plist"), "one")
            try Disk.hardLink(folder.path("elsewhere/other"), to: folder.path("app.plist"))
        },
        WatchStory(
            "a folder in the place of the file", [.leaves("one") { try Disk.replaceFolder($0.path("app.plist"), "one") }, .writes("two")]
        ) {
            try Disk.makeFolder($0.path("app.plist"))
        },
    ]

    private static let recreatedFolders: [WatchStory] = ["a", "a/b", "a/b/c"].map { removed in
        let rounds = (0..<3).flatMap { round -> [Step] in
            [
                .leaves(nil) { try Disk.remove($0.path(removed)) },
                .leaves("back \(round)") { try Disk.writeDeep($0.path("a/b/c/app.plist"), "back \(round)") },
                .replaces("replaced \(round)"),
            ]
        }
        return WatchStory("\(removed) of a/b/c deleted and made again", path: "a/b/c/app.plist", rounds) {
            try Disk.writeDeep($0.path("a/b/c/app.plist"), "one")
        }
    }

    private static let folders: [WatchStory] = [
        WatchStory(
            "an ancestor renamed and renamed back", path: "a/b/c/app.plist",
            [
                .leaves(nil) { try Disk.move($0.path("a"), $0.path("away")) },
                .leaves("one") { try Disk.move($0.path("away"), $0.path("a")) },
                .writes("two"),
            ]
        ) { try Disk.writeDeep($0.path("a/b/c/app.plist"), "one") },
        WatchStory(
            "folders that come one by one", path: "a/b/c/d/app.plist",
            [
                .leaves("one") { folder in
                    for level in ["a", "a/b", "a/b/c", "a/b/c/d"] { try Disk.makeFolder(folder.path(level)) }
                    try Disk.write(folder.path("a/b/c/d/app.plist"), "one")
                }
            ]),
        WatchStory(
            "a file in the place of a folder", path: "a/app.plist",
            [
                .leaves("one") { folder in
                    try Disk.remove(folder.path("a"))
                    try Disk.writeDeep(folder.path("a/app.plist"), "one")
                }
            ]
        ) { try Disk.write($0.path("a"), "not a folder") },
    ]

    /// `a/b`, and another folder that can replace `a` or `a/b`.
    private static let prepareOther: @Sendable (TemporaryFolder) throws -> Void = { folder in
        try Disk.writeDeep(folder.path("a/b/app.plist"), "one")
        try Disk.writeDeep(folder.path("other/b/app.plist"), "two")
        try Disk.write(folder.path("other/app.plist"), "two")
    }

    private static let replacedFolders: [WatchStory] = ["a", "a/b"].map { replaced in
        let steps: [Step] = [
            .leaves("two") { folder in
                try Disk.move(folder.path(replaced), folder.path("gone"))
                try Disk.move(folder.path("other"), folder.path(replaced))
            },
            .writes("three"),
        ]
        return WatchStory("another folder in the place of \(replaced)", path: "a/b/app.plist", steps, from: prepareOther)
    }

    private static let linkedFolders: [WatchStory] = ["a", "a/b"].map { replaced in
        let steps: [Step] = [
            .leaves("two") { folder in
                try Disk.move(folder.path(replaced), folder.path("gone"))
                try Disk.link(folder.path(replaced), to: folder.path("other"))
            },
            .replaces("three"),
            .leaves("one") { folder in
                try Disk.remove(folder.path(replaced))
                try Disk.move(folder.path("gone"), folder.path(replaced))
            },
            .writes("four"),
        ]
        return WatchStory("a link in the place of \(replaced), and back again", path: "a/b/app.plist", steps, from: prepareOther)
    }

    private static let names: [WatchStory] = ["Größe.plist", "設定.plist", "e\u{301}"].map { name in
        WatchStory("the name \(name)", path: name, [.replaces("one"), .writes("two")])
    }

    private static let dots: [WatchStory] = [
        WatchStory("dots and slashes", path: ".//link/../app.plist", [.leaves("one") { try Disk.write($0.path("real/app.plist"), "one") }])
        {
            try Disk.makeFolder($0.path("real/deep"))
            try Disk.link($0.path("link"), to: "real/deep")
        }
    ]
}
