import Dispatch
import FoundationSubset
import ObservableStorage

extension Command {
    static let edit = Command(
        "edit", operands: "FILE", etcdOperand: 0,
        summary: "Edit the property list as XML in $VISUAL or $EDITOR; the edited values are stored in one transaction.",
        details: """
            A JSON file is edited as JSON, without its comments, which remain in the file.

            The editor opens a copy in a private folder. Only the values that were edited are stored, so that concurrent changes by others are
            kept; a value that both have changed is an error. If the edited copy cannot be stored, nothing is changed; on a terminal it can be
            edited again, and otherwise the copy is kept and the error says where. If the editor exits with an error, nothing is stored.
            """
    ) { arguments, _ in
        let storage = try EntryStorage(arguments)
        let original = try storage.existingEntries()
        let bytes = try (storage.isJSON ? PropertyListFormat.json : .xml).encoded(original, of: storage.name)
        let copied = try entries(of: bytes, named: storage.name)
        let copy = try EditedCopy(of: storage.name, bytes)
        do {
            repeat {
                try copy.openEditor()
            } while try !store(copy, in: storage, original: original, copied: copied)
        } catch {
            if copy.isUnchanged {
                copy.remove()
                throw error
            }
            throw CommandError.failed("\(CommandError(error)); nothing was stored; the edited copy is \(copy.path)")
        }
        copy.remove()
    }

    /// Stores what was edited; returns false if that failed and the user wants to edit again.
    private static func store(
        _ copy: EditedCopy, in storage: EntryStorage, original: [String: PropertyListValue], copied: [String: PropertyListValue]
    ) throws -> Bool {
        do {
            let edited = try entries(of: readInput(copy.path), named: "\(storage.name): the edited copy")
            let merge = Merge(original: original, copied: copied, edited: edited)
            guard !merge.editedKeys.isEmpty else { return true }
            try storage.edit { entries in
                for key in merge.editedKeys { entries[key] = try merge.value(of: key, present: entries[key]) }
            }
            return true
        } catch let conflict as Merge.Conflict {
            throw CommandError.failed("\(storage.name): key \(conflict.path.quoted) was changed by another process meanwhile")
        } catch {
            guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { throw error }
            CommandError(error).report()
            try Output(descriptor: STDERR_FILENO, isColoured: false).write(Array("Edit again? [Y/n] ".utf8))
            guard let answer = readLine(), ["", "y", "yes"].contains(answer.lowercased()) else { throw error }
            return false
        }
    }
}

/// A copy of a property list in a folder that only this user can read.
private struct EditedCopy: Sendable {
    private let folder: String
    private let bytes: Data
    let path: String

    init(of file: String, _ bytes: Data) throws(CommandError) {
        var template = Array((FileManager.default.temporaryDirectory.path + "/prefs-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw .failed("a temporary folder cannot be created: \(String(cString: strerror(errno)))") }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        path = folder + "/" + (file.split(separator: "/").last ?? "copy.plist")
        self.bytes = bytes
        do {
            // For this user only, whatever the umask.
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw CommandError.failed("\(path): cannot be written: \(String(cString: strerror(errno)))") }
            defer { close(descriptor) }
            try Output(descriptor: descriptor, isColoured: false, name: path).write(bytes)
        } catch {
            remove()
            throw CommandError(error)
        }
    }

    /// Whether the copy was read and has no edits.
    var isUnchanged: Bool {
        do throws(CommandError) {
            return try readInput(path) == bytes
        } catch {
            return false
        }
    }

    /// Removes the folder, with the files that the editor has left in it.
    func remove() {
        do {
            try FileManager.default.removeItem(atPath: folder)
        } catch {
            CommandError.failed("\(folder): cannot be removed: \(error)").report()
        }
    }

    func openEditor() throws(CommandError) {
        let environment = ProcessInfo.processInfo.environment
        let editor = ["VISUAL", "EDITOR"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "vi"
        // The shell splits a command with arguments, such as `code --wait`.
        let arguments = ["sh", "-c", "\(editor) \"$1\"", editor, path]
        let (status, signalled) = try run("/bin/sh", arguments)
        if let signalled {
            // The copy may contain secrets.
            remove()
            signal(signalled, SIG_DFL)
            // The parent process may have blocked it.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            raise(signalled)
        }
        guard status == 0 else { throw .failed("the editor (\(editor)) \(Self.description(ofStatus: status))") }
    }

    /// Runs a program to its end; returns its status, and the signal that this process received meanwhile, if any.
    private func run(_ program: String, _ arguments: [String]) throws(CommandError) -> (status: Int32, signalled: Int32?) {
        let list = arguments.map { strdup($0) } + [nil]
        defer { for argument in list { free(argument) } }
        // Ctrl-C and Ctrl-\ are for the editor.
        let handlers = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
        defer { for (number, handler) in handlers { signal(number, handler) } }
        // Before the editor is started: another process that sees it may send them at once.
        let state = Lock<(child: pid_t, signalled: Int32?)>((0, nil))
        let sources = onSignals([SIGTERM, SIGHUP]) { number in
            state.withLock { state in
                state.signalled = number
                if state.child > 0 { kill(state.child, number) }
            }
        }
        defer {
            for source in sources { source.cancel() }
            for number in [SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
        }
        let (error, child) = state.withLock { state in
            let error = Self.spawn(&state.child, program, list)
            if error == 0, let number = state.signalled { kill(state.child, number) }
            return (error, state.child)
        }
        guard error == 0 else { throw .failed("\(program): cannot be started: \(String(cString: strerror(error)))") }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signalled = state.withLock { state in
            state.child = 0
            return state.signalled
        }
        return (status, signalled)
    }

    /// Starts a program with default actions for all signals that this process handles, and with none blocked.
    private static func spawn(_ child: inout pid_t, _ program: String, _ arguments: [UnsafeMutablePointer<CChar>?]) -> Int32 {
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
        #else
            var attributes = posix_spawnattr_t()
        #endif
        let error = posix_spawnattr_init(&attributes)
        guard error == 0 else { return error }
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, defaults) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&defaults)
        for number in [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return posix_spawn(&child, program, nil, &attributes, arguments, environ)
    }

    private static func description(ofStatus status: Int32) -> String {
        status & 0x7F == 0 ? "exited with status \(status >> 8 & 0xFF)" : "was ended by signal \(status & 0x7F)"
    }
}
