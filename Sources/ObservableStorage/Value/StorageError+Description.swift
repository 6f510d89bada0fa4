extension StorageError: CustomStringConvertible {
    /// The error as a message on one line, or on one for each of several: file or key, position, reason and remedy.
    ///
    /// Control characters are escaped: others may have written them into a name or a reason.
    public var description: String {
        if case .several = self { message } else { message.printableLine }
    }

    private var message: String {
        switch self {
        case .unreadable(let file, let reason, let edits):
            "\(file): cannot be read: \(reason)\(Self.text(edits))"
        case .malformed(let file, let offset, let line, let column, let reason, let edits):
            """
            \(file): not a readable property list\(Self.position(offset, line, column)): \(reason); its content was not \
            changed\(Self.text(edits))
            """
        case .unwritable(let file, let reason, let edits):
            "\(file): cannot be written: \(reason)\(Self.text(edits))"
        case .folderNotGranted(let file, let edits):
            """
            \(file): cannot be written: the sandbox grants this file alone, and writing creates others beside it\(Self.text(edits)); let the \
            user pick its folder instead, or open it with access: .readOnly
            """
        case .locked(let file, let waited, let edits):
            "\(file): locked by another process for more than \(waited)\(Self.text(edits))\(Self.remedy(ofLocked: file))"
        case .suspended(let file, let edits):
            """
            \(file): not written, because the store is suspended, or the process is about to be\(Self.text(edits)); resume() the store, and \
            try again
            """
        case .conflict(let file, let keys):
            """
            \(file): the last edits of a process that was killed are dropped, of \(Self.text(keys)): another writer has changed the same \
            since, and what is stored was left as it is; set them again if they are still wanted
            """
        case .readOnly(let file):
            "\(file): opened for reading only; open it with access: .readWrite, or make the change in the application that owns it"
        case .unwatchable(let file, let reason):
            "\(file): cannot be watched: \(reason); it is polled instead"
        case .mountedFile(let file):
            """
            \(file): is mounted as a single file (a bind mount, such as a Kubernetes subPath): a file that replaces it outside of the mount is \
            never visible here, only what is written into it; mount the folder that holds it instead
            """
        case .undecodable(let key, let expected, let found, _):
            "key \"\(key)\": expected \(expected), found \(found); what is stored was left as it is"
        case .unencodable(let key, let reason, _):
            "key \"\(key)\": cannot be stored: \(reason); what was stored before is unchanged"
        case .tooLarge(let key?, let reason):
            "key \"\(key)\": too large for the storage: \(reason); nothing was stored; store a smaller value"
        case .tooLarge(nil, let reason):
            "too large for one commit: \(reason); nothing was stored; make the edits in smaller steps"
        case .outcomeUnknown(let storage, let reason, let edits):
            "\(storage): it is not known whether the edits were stored: \(reason)\(Self.text(edits))"
        case .historyLost(let storage, let reason):
            "\(storage): \(reason); everything is read again"
        case .mandatory(let key):
            "key \"\(key)\": prescribed by the administrator, so it cannot be set; nothing was changed"
        case .discardedScene(let key):
            """
            key "\(key)": its scene was discarded, so it cannot be set; nothing was changed; open the scene again with a new SceneStore, \
            or reset() a scene that goes on instead of discarding it
            """
        case .closed:
            "the store is closed; open another one to go on"
        case .repeatedName(let key, let group):
            "key \"\(key)\": two keys of \(group) have this name; give one of them another name or its group a prefix"
        case .invalidGroup(let group, let reason):
            "the values of \(group) are not valid together: \(reason); the last valid ones are used, and what is stored was left as it is"
        case .unknownName(let key, let group, let nearest):
            """
            key "\(key)": no key of \(group) has this name\(nearest.map { ", but one has \"\($0)\"" } ?? ""); correct the name, or remove what \
            is stored
            """
        case .superseded(let key, let earlierName):
            """
            key "\(key)": its earlier name "\(earlierName)" has another value, which an earlier version of the program may have stored since; \
            it is not used; set the key, to that value or another one, to resolve this
            """
        case .invalidOverride(let name, let key, let reason):
            "\(name): cannot be used for the key \"\(key)\": \(reason); correct it, or remove it"
        case .several(let errors):
            errors.map(\.description).joined(separator: "\n")
        case .nestedUpdate:
            "update was called from inside update; use the transaction that was passed to it"
        case .nestedEdit(let key):
            """
            key "\(key)": the closure of edit or modify, or a group's rule, has read it, and sets it in the store in each run; the edit was not \
            made; set it in what was passed to the closure instead
            """
        case .unmirrored(let key?, let reason):
            "key \"\(key)\": not mirrored: \(reason); the value on this device was left as it is"
        case .unmirrored(nil, let reason):
            "edits are not mirrored at present: \(reason); the values on this device are kept"
        case .invalidConfiguration(let item, let reason, let remedy):
            "\(item): cannot be used: \(reason); \(remedy)"
        }
    }

    // Not for a storage that is no file.
    private static func remedy(ofLocked file: String) -> String {
        guard file.hasPrefix("/"), let name = file.split(separator: "/").last else { return "" }
        return """
            ; end that process, which fuser or lsof finds by the lock file .\(name).lock beside it, or wait for it with a longer lockTimeout
            """
    }

    private static func position(_ offset: Int?, _ line: Int?, _ column: Int?) -> String {
        if let line, let column { return " (line \(line), column \(column))" }
        return offset.map { " (byte \($0))" } ?? ""
    }

    private static func text(_ edits: EditOutcome?) -> String {
        switch edits {
        case nil: ""
        case .kept: "; the edits are kept in memory and tried again"
        case .rolledBack: "; nothing was changed"
        case .notDurable: "; the file has its new content, which may not outlive a power failure"
        case .unknown: "; the edits may have been stored"
        case .logged: "; the last edits are kept in a log beside the file, and stored when it is next opened or written"
        case .lost(let keys): "; the last edits are lost, of \(text(keys))"
        }
    }

    private static func text(_ keys: [String]) -> String {
        keys.map { "\"\($0)\"" }.joined(separator: ", ")
    }
}
