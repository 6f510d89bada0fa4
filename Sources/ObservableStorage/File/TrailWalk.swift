/// Follows a path component by component, links included, without touching the disk itself.
///
/// Ask for the ``next()`` name to look up, watch its folder, look, and say what was ``found(_:)``: watched in this order, from the
/// root down, nothing can change unseen between watching and looking.
struct TrailWalk: Sendable {
    /// A name whose meaning decides where the path leads.
    struct Step: Sendable, Hashable {
        /// The folder, absolute and free of links.
        let folder: String
        /// The name in it.
        let name: String

        var path: String {
            folder == "/" ? "/" + name : folder + "/" + name
        }
    }

    /// As many links as the kernel follows.
    private static let maximumLinks = 40
    private static let separator = UInt8(ascii: "/")

    private var folders: [String] = []
    /// The names still to come, the nearest one last.
    private var names: [String] = []
    private var links = 0
    private var step: Step?

    /// The name that is the file's, or would be; nil as long as only folders on the way have been looked up.
    private(set) var last: Step?
    /// The file the path leads to, if there is one.
    private(set) var file: Step?

    /// Starts at the root.
    init(path: String) {
        push(path)
    }

    /// The next name to look up, or nil at the end of the way.
    mutating func next() -> Step? {
        while let name = names.popLast() {
            if name == ".." {
                _ = folders.popLast()
            } else {
                let step = Step(folder: "/" + folders.joined(separator: "/"), name: name)
                self.step = step
                last = names.isEmpty ? step : nil
                return step
            }
        }
        return nil
    }

    /// Goes on with what the last name stands for.
    mutating func found(_ entry: TrailEntry) {
        guard let step else { return }
        self.step = nil
        switch entry.kind {
        case .folder:
            folders.append(step.name)
        case .link(let target):
            links += 1
            guard links <= Self.maximumLinks else { return names.removeAll() }
            if target.utf8.first == Self.separator { folders.removeAll() }
            push(target)
        case .file:
            // A file on the way to the file: nothing can be below it.
            if names.isEmpty { file = step }
            names.removeAll()
        case .missing:
            names.removeAll()
        }
    }

    private mutating func push(_ path: String) {
        // By bytes: to a String, a combining mark belongs to the slash before it.
        for name in path.utf8.split(separator: Self.separator).reversed().map({ String(Substring($0)) }) where name != "." {
            names.append(name)
        }
    }
}
