#if os(Linux)
    import Foundation
    import PropertyListCoding
    import TestSupport
    import Testing

    @Suite("Completion in Bash", .enabled(if: isInstalled("bash") && isInstalled("setsid")), .timeLimit(.minutes(10)))
    struct BashCompletionTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            try write(
                [
                    "since": 1, "urn:a:one": 1, "urn:a:other": 1, "x=y=z": 1, "my key:deep": 1, "u@host": 1, "it's": 1, #"a"$b`\"#: 1,
                ], "two.plist")
            try write(["hello": 1], "my dom.plist")
            try write(["world": 1], "a=b/list:1.plist")
        }

        private func write(_ value: PropertyListValue, _ name: String) throws {
            let file = folder.file(name)
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try value.encoded(as: .binary).write(to: file)
        }

        /// The lines that an interactive Bash has after the tab key was pressed at the end of each of some lines.
        private func completed(_ lines: [String]) async throws -> [String] {
            let output = folder.file("output")
            let startup = try folder.make(
                "startup",
                #"""
                PATH="$BIN:$PATH"; cd "$XDG_CONFIG_HOME"; source <(prefs completions bash)
                bind -x '"\C-g": printf "%s\n" "$READLINE_LINE" >>"$OUTPUT"; READLINE_LINE='

                """#)
            let environment = [
                "BIN": Subprocess.executable("prefs").deletingLastPathComponent().path, "XDG_CONFIG_HOME": folder.url.path,
                "OUTPUT": output.path, "INPUTRC": "/dev/null", "TERM": "dumb", "HISTFILE": "", "LC_ALL": "C.UTF-8",
            ]
            // Without a session of its own, the shell would take the terminal of the tests.
            let result = try await Subprocess.finished(
                "setsid", ["--wait", "bash", "--noprofile", "--rcfile", startup, "-i"],
                input: Data(lines.map { $0 + "\t\u{7}" }.joined().utf8), environment: environment)
            let text = try String(contentsOf: output, encoding: .utf8)
            try #require(text.hasSuffix("\n"), "\(result.errors)")
            return text.dropLast().components(separatedBy: "\n")
        }

        private func expectCompletions(_ expected: KeyValuePairs<String, String>) async throws {
            let lines = try await completed(expected.map { $0.key })
            #expect(lines.count == expected.count)
            for ((line, completed), actual) in zip(expected, lines) { #expect(actual == completed, "\(line)") }
        }

        @Test("Keys are completed, also after characters at which Bash splits words")
        func breaks() async throws {
            try await expectCompletions([
                "prefs read two sin": "prefs read two since ",
                "prefs read two urn": "prefs read two urn:a:o",
                "prefs read two urn:": "prefs read two urn:a:o",
                "prefs read two urn:a:on": "prefs read two urn:a:one ",
                "prefs read two x=": "prefs read two x=y=z ",
                "prefs read two x=y=z": "prefs read two x=y=z ",
                "prefs read two u@h": "prefs read two u@host ",
                "prefs rename two urn:a:one si": "prefs rename two urn:a:one si",
                "prefs write two urn:a:one a=b u@": "prefs write two urn:a:one a=b u@host ",
                "true; VARIABLE=1 prefs read two urn:a:on": "true; VARIABLE=1 prefs read two urn:a:one ",
                "prefs export two --format=j": "prefs export two --format=json ",
                "prefs read nowhere:urn a:": "prefs read nowhere:urn a:",
            ])
        }

        @Test("Words in quotes and with escapes are completed, and what is inserted is quoted like them")
        func quotes() async throws {
            try await expectCompletions([
                "prefs read two my": #"prefs read two my\ key:deep "#,
                #"prefs read two my\ key:"#: #"prefs read two my\ key:deep "#,
                #"prefs read two my\ key\:d"#: #"prefs read two my\ key:deep "#,
                #"prefs read two "my key:"#: #"prefs read two "my key:deep" "#,
                "prefs read two 'my k": "prefs read two 'my key:deep' ",
                #"prefs read two "urn":a:on"#: #"prefs read two "urn":a:one "#,
                "prefs read two it": #"prefs read two it\'s "#,
                "prefs read two 'it": #"prefs read two 'it'\''s' "#,
                #"prefs read two "it"#: #"prefs read two "it's" "#,
                #"prefs read two a\""#: #"prefs read two a\"\$b\`\\ "#,
                #"prefs read two "a"#: #"prefs read two "a\"\$b\`\\" "#,
                #"prefs read my\ dom h"#: #"prefs read my\ dom hello "#,
                "prefs read 'my dom' h": "prefs read 'my dom' hello ",
                #"prefs read "my dom" 'h"#: #"prefs read "my dom" 'hello' "#,
            ])
        }

        @Test("Paths are completed, also after characters at which Bash splits words")
        func paths() async throws {
            try await expectCompletions([
                "prefs read a=": "prefs read a=b/",
                "prefs read ./a=b/l": #"prefs read ./a=b/list:1.plist "#,
                "prefs read a=b/list:1.plist wor": "prefs read a=b/list:1.plist world ",
                "prefs read a=b/none": "prefs read a=b/none",
                "prefs read two --etcd-cacert=./tw": "prefs read two --etcd-cacert=./two.plist ",
            ])
        }
    }
#endif
