import Foundation
import ObservableStorage

let store = try ObservableStore(at: URL(fileURLWithPath: CommandLine.arguments[1]))
let count = StorageKey("count", default: 0)
let name = StorageKey("name", default: "")
while true {
    store[count] += 1
    store[name].append("x")
    print("again")
}
