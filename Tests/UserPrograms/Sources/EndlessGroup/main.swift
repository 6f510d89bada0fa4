import Foundation
import ObservableStorage

struct Keys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
    let lastLaunch = StorageKey<Date?>("lastLaunch")
}

let settings = KeyedStore<Keys>(.standard)
var launches = settings.launchCount
while true {
    launches += 1
    settings.launchCount = launches
    settings.lastLaunch = Date()
    settings.launchCount += 1
    print(launches)
}
