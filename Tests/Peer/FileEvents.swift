import Foundation
import ObservableStorage

/// A file watcher that prints each event, while it runs the lines of standard input in a shell.
struct FileEvents {
    let path: String

    func run() async throws {
        Thread.detachNewThread {
            while let line = readLine() { _ = system(line) }
            exit(0)
        }
        for await event in FileWatcher.events(at: path) { try Peer.say(text(of: event)) }
    }

    private func text(of event: FileWatcher.Event) -> String {
        switch event {
        case .changed: "look: " + (FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? "-")
        case .fallback(let error): "fallback: \(error)"
        case .recovered(let mechanism): "recovered: \(mechanism)"
        case .incomplete(let error): "incomplete: \(error)"
        }
    }
}
