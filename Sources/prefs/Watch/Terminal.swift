import Dispatch
import FoundationSubset
import ObservableStorage

/// The terminal on which `prefs watch` displays a table: an alternate screen, which is left when the display ends or is suspended.
final class Terminal: Sendable {
    private let output: Output
    private let pending = Lock<(events: [WatchTable.Event], signals: [Int32])>(([], []))
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// Whether standard output is a terminal that can move the cursor.
    static var isAvailable: Bool {
        isatty(STDOUT_FILENO) == 1 && !["dumb", ""].contains(ProcessInfo.processInfo.environment["TERM"] ?? "")
    }

    init(_ output: Output) {
        self.output = output
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Passes an event to the table, from any thread.
    func send(_ event: WatchTable.Event) {
        pending.withLock { $0.events.append(event) }
        wakeUp.yield()
    }

    /// Displays a table until SIGINT, SIGTERM or SIGQUIT arrives, or the terminal is gone.
    func display(_ table: WatchTable) async {
        var table = table
        let signals = onSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT]) { [weak self] number in
            self?.pending.withLock { $0.signals.append(number) }
            self?.wakeUp.yield()
        }
        // nil while the process is suspended.
        var settings: termios? = enter()
        defer { withExtendedLifetime(signals) { settings.map(leave) } }
        wakeUp.yield()
        for await _ in wakeUps {
            // Draws all pending events at once, so that drawing keeps up.
            let (events, signals) = pending.exchange(([], []))
            for event in events { table.apply(event) }
            for number in signals {
                switch number {
                case SIGWINCH: break
                case SIGTSTP:
                    settings.take().map(leave)
                    // This may return before the other threads of the process are stopped.
                    kill(getpid(), SIGSTOP)
                case SIGCONT: settings = settings ?? enter()
                default: return
                }
            }
            guard settings != nil else { continue }
            table.apply(size())
            guard write("\u{1b}[H" + table.lines(output).map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J") else { return }
        }
    }

    private func size() -> WatchTable.Event {
        var size = winsize()
        guard ioctl(output.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return .size(columns: 80, rows: 24)
        }
        return .size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Enters the alternate screen, without a cursor and without wrapping of long lines, and returns the previous settings.
    private func enter() -> termios {
        var settings = termios()
        tcgetattr(output.descriptor, &settings)
        var changed = settings
        changed.c_lflag &= ~tcflag_t(ECHO)
        // Otherwise a key that sends a signal discards pending output, such as the sequence that leaves the screen.
        changed.c_lflag |= tcflag_t(NOFLSH)
        tcsetattr(output.descriptor, TCSADRAIN, &changed)
        _ = write("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[2J")
        return settings
    }

    private func leave(_ settings: termios) {
        _ = write("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        var settings = settings
        tcsetattr(output.descriptor, TCSADRAIN, &settings)
    }

    /// Returns false if the terminal is gone.
    private func write(_ text: String) -> Bool {
        do throws(CommandError) {
            try output.write(Array(text.utf8))
            return true
        } catch {
            return false
        }
    }

    static func timeOfDay() -> String {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Int($0).padded(to: 2) }.joined(separator: ":")
    }
}
