import Foundation
import ObservableStorage

extension StorageKey<Double> {
    static let volume = StorageKey("volume", default: 0.5)
}

let volume = ObservableStore.standard.stored(.volume)
var level = volume.value
while true {
    level /= 2
    volume.value = level
    volume.value += 0.1
    print(level)
}
