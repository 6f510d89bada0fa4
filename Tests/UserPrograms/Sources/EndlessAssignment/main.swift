import Foundation
import ObservableStorage

let store = try ObservableStore(at: URL(fileURLWithPath: CommandLine.arguments[1]))
let key = StorageKey("n", default: 0)
var i = store[key]
while true {
    i += 1
    store[key] = i
    print(i)
}
