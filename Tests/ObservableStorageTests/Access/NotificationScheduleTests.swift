import Testing

@testable import ObservableStorage

@Suite("Schedule of notifications on the main actor", .timeLimit(.minutes(10)))
struct NotificationScheduleTests {
    private enum Step: Equatable {
        case begin
        case end(schedules: Bool)
        case change(String, isImmediate: Bool)
        case postpone(String, schedules: Bool)
        case take([String])
    }

    /// Takes the steps, and expects their results.
    private func expect(_ steps: [Step]) {
        var schedule = NotificationSchedule<String>()
        let made = steps.map { step -> Step in
            switch step {
            case .begin:
                schedule.beginRead()
                return .begin
            case .end: return .end(schedules: schedule.endRead())
            case .change(let observed, _): return .change(observed, isImmediate: schedule.change(of: observed))
            case .postpone(let observed, _): return .postpone(observed, schedules: schedule.postpone(observed))
            case .take: return .take(schedule.takePostponed())
            }
        }
        #expect(made == steps)
    }

    @Test("A change is notified at once while nothing is read")
    func immediate() {
        expect([.change("a", isImmediate: true), .begin, .end(schedules: false), .change("b", isImmediate: true), .take([])])
    }

    @Test("Changes during a read are postponed in their order, each once, and scheduled by the end of the outermost read")
    func postponed() {
        expect([
            .begin, .change("b", isImmediate: false), .begin, .change("a", isImmediate: false), .change("b", isImmediate: false),
            .end(schedules: false), .end(schedules: true), .change("c", isImmediate: true), .take(["b", "a"]), .take([]),
        ])
    }

    @Test("They are scheduled once, until they are taken")
    func once() {
        expect([
            .postpone("a", schedules: true), .postpone("b", schedules: false), .begin, .end(schedules: false), .take(["a", "b"]),
            .postpone("a", schedules: true),
        ])
    }

    @Test("During a read, none are taken; its end schedules them again")
    func takenDuringRead() {
        expect([
            .postpone("a", schedules: true), .begin, .take([]), .postpone("b", schedules: false), .end(schedules: true), .take(["a", "b"]),
        ])
    }
}
