import Foundation
import PropertyListCoding
import TestSupport

@testable import ObservableStorage

/// A folder, of which it is known what a power failure would leave: the bytes that were synchronized, and the names at the last
/// synchronization of the folder; of everything else any part, or nothing.
///
/// Used by one process after the other, each of which ends at some system call: all later ones fail, except that files are closed and
/// unlocked, as the system does.
final class PowerFailure: Sendable {
    struct Content: Hashable {
        let bytes: Data
        let time: Int64
    }

    private struct Node {
        /// What was synchronized; nil if nothing was.
        var synchronized: Content?
    }

    private struct State {
        var nodes: [UInt64: Node] = [:]
        /// What each name may be after a power failure: a file, or none.
        var names: [String: [UInt64?]] = [:]
        var callsLeft = Int.max
        var made: [String] = []
    }

    private let folder: URL
    /// Hard links that keep every inode alive, with its number.
    private let aside: TemporaryFolder
    private let state = Lock(State())
    private static let live = FileSystemCalls.live

    /// - Parameter folder: what is in it is on the medium.
    init(of folder: URL) throws {
        self.folder = folder
        aside = try TemporaryFolder.inMemory()
        look()
        try settle()
    }

    /// The system calls of a process that makes so many of them.
    func calls(_ count: Int = .max) -> FileSystemCalls {
        state.withLock { ($0.callsLeft, $0.made) = (count, []) }
        let recorder = CallRecorder { [self] _, name in
            if name == "close" || name == "unlock" { return nil }
            return state.withLock { state in
                state.made.append(name)
                state.callsLeft -= 1
                return state.callsLeft < 0 ? EIO : nil
            }
        }
        let recorded = recorder.calls
        var calls = recorded
        calls.openDescriptor = { [self] path, flags, mode throws(SystemError) in
            let descriptor = try recorded.openDescriptor(path, flags, mode)
            if flags & O_CREAT != 0 { look() }
            return descriptor
        }
        calls.renameFile = { [self] from, to throws(SystemError) in
            try recorded.renameFile(from, to)
            look()
        }
        calls.removeFile = { [self] path throws(SystemError) in
            try recorded.removeFile(path)
            look()
        }
        for path in [\FileSystemCalls.synchronize, \.synchronizeData] {
            let synchronize = calls[keyPath: path]
            calls[keyPath: path] = { [self] descriptor throws(SystemError) in
                try synchronize(descriptor)
                noteSynchronized(try Self.live.statusOfDescriptor(descriptor))
            }
        }
        return calls
    }

    /// The system calls that were made since ``calls(_:)``.
    var made: [String] { state.withLock { $0.made } }

    // MARK: What is on the medium

    /// Notes files and names that are new.
    func look() {
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            var found: [String: UInt64] = [:]
            for name in names {
                let status = try Self.live.statusOfPath(ResolvedPath(name, in: folder.path), false)
                guard status.kind == .file, !name.hasSuffix(".lock") else { continue }
                found[name] = status.identity.inode
                guard state.withLock({ $0.nodes[status.identity.inode] }) == nil else { continue }
                try FileManager.default.linkItem(at: folder.appendingPathComponent(name), to: link(status.identity.inode))
                state.withLock { $0.nodes[status.identity.inode] = Node() }
            }
            state.withLock { state in
                for name in Set(found.keys).union(state.names.keys) where state.names[name, default: [nil]].last != found[name] {
                    state.names[name, default: [nil]].append(found[name])
                }
            }
        } catch {
            preconditionFailure("\(error)")
        }
    }

    func noteSynchronized(_ status: FileStatus) {
        if status.kind == .folder {
            state.withLock { state in state.names = state.names.mapValues { [$0.last ?? nil] } }
        } else {
            let content = content(status)
            state.withLock { $0.nodes[status.identity.inode]?.synchronized = content }
        }
    }

    /// Writes everything to the medium, as the system does after some time.
    func settle() throws {
        for inode in state.withLock({ Array($0.nodes.keys) }) {
            noteSynchronized(try Self.live.statusOfPath(ResolvedPath(splitting: link(inode).path), false))
        }
        noteSynchronized(try Self.live.statusOfPath(ResolvedPath(splitting: folder.path), false))
    }

    private func link(_ inode: UInt64) -> URL { aside.file("\(inode)") }

    private func content(_ status: FileStatus) -> Content {
        Content(
            bytes: FileManager.default.contents(atPath: link(status.identity.inode).path) ?? Data(), time: status.identity.modified)
    }

    // MARK: Power failures

    /// What is left at a power failure: chosen by a number, of which the first ones are the extremes.
    enum Outcome: Sendable, CustomStringConvertible {
        case names(old: Bool, contentsOld: Bool)
        case random(UInt64)

        static func all(random count: UInt64) -> [Outcome] {
            [false, true].flatMap { old in [false, true].map { .names(old: old, contentsOld: $0) } } + (0..<count).map { .random($0) }
        }

        var description: String {
            switch self {
            case .names(let old, let contentsOld): "\(old ? "old" : "new") names, \(contentsOld ? "old" : "new") contents"
            case .random(let seed): "random choice \(seed)"
            }
        }
    }

    /// A file that is left under some name.
    struct File: Hashable {
        fileprivate let inode: UInt64
        fileprivate let content: Content
    }

    /// The folder at the moment of a power failure.
    struct Moment {
        fileprivate let names: [String: [UInt64?]]
        fileprivate let nodes: [UInt64: (synchronized: Content?, current: Content)]

        /// What may be left, by name: the extremes, and so many random choices, without repetitions.
        func outcomes(random count: UInt64) -> [(outcome: Outcome, files: [String: File])] {
            var found: Set<[String: File]> = []
            return Outcome.all(random: count).map { ($0, files(after: $0)) }.filter { found.insert($0.1).inserted }
        }

        private func files(after outcome: Outcome) -> [String: File] {
            var generator = SeededGenerator(seed: 0)
            if case .random(let seed) = outcome { generator = SeededGenerator(seed: firstSeed &+ seed) }
            var contents: [UInt64: Content] = [:]
            for (inode, node) in nodes.sorted(by: { $0.key < $1.key }) {
                let old = node.synchronized ?? Content(bytes: Data(), time: node.current.time)
                switch outcome {
                case .names(_, let isOld): contents[inode] = isOld ? old : node.current
                case .random: contents[inode] = PowerFailure.part(of: node.current, after: old, &generator)
                }
            }
            var files: [String: File] = [:]
            for (name, candidates) in names.sorted(by: { $0.key < $1.key }) {
                let inode: UInt64?
                switch outcome {
                case .names(let isOld, _): inode = (isOld ? candidates.first : candidates.last) ?? nil
                case .random: inode = candidates.randomElement(using: &generator) ?? nil
                }
                if let inode, let content = contents[inode] { files[name] = File(inode: inode, content: content) }
            }
            return files
        }
    }

    func moment() throws -> Moment {
        look()
        let (names, nodes) = state.withLock { ($0.names, $0.nodes) }
        var contents: [UInt64: (synchronized: Content?, current: Content)] = [:]
        for (inode, node) in nodes {
            contents[inode] = (node.synchronized, content(try Self.live.statusOfPath(ResolvedPath(splitting: link(inode).path), false)))
        }
        return Moment(names: names, nodes: contents)
    }

    /// Makes of the folder what a power failure has left of it; every file keeps its inode number.
    func restore(_ files: [String: File]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        for (name, file) in files {
            try overwrite(file)
            try FileManager.default.linkItem(at: link(file.inode), to: folder.appendingPathComponent(name))
        }
        state.withLock { state in
            state.names = [:]
            state.nodes = state.nodes.mapValues { _ in Node() }
        }
        look()
        try settle()
    }

    private static func part(of current: Content, after old: Content, _ generator: inout SeededGenerator) -> Content {
        let size = current.bytes.count
        guard size > old.bytes.count, current.bytes.prefix(old.bytes.count) == old.bytes else {
            return Bool.random(using: &generator) ? old : current
        }
        let kept = current.bytes.prefix(Int.random(in: old.bytes.count...size, using: &generator))
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: return old
        case 1: return current
        case 2: return Content(bytes: kept, time: current.time)
        default: return Content(bytes: kept + Data(count: size - kept.count), time: current.time)
        }
    }

    private func overwrite(_ file: File) throws {
        let descriptor = try Self.live.openFile(ResolvedPath(splitting: link(file.inode).path), O_WRONLY)
        defer { Self.live.discard(descriptor) }
        try Self.live.truncate(descriptor, 0)
        try Self.live.writeAll(file.content.bytes, to: descriptor)
        try Self.live.setModificationTime(descriptor, file.content.time)
    }
}
