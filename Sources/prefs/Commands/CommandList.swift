/// The commands, in the order in which help lists them.
enum CommandList {
    static let all: [any Command.Type] = [
        ReadCommand.self, TypeCommand.self, WriteCommand.self, DeleteCommand.self, IncrementCommand.self, WatchCommand.self,
        ExportCommand.self, ImportCommand.self, HelpCommand.self,
    ]

    static func named(_ name: String) -> (any Command.Type)? {
        all.first { $0.name == name }
    }
}
