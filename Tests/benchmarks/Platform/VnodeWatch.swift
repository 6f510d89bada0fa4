#if canImport(Darwin)
    import Foundation

    /// The minimum that detects a rename: a Dispatch source on the folder.
    ///
    /// Unchecked, because after its creation the source is only cancelled, which any thread may do.
    final class VnodeWatch: @unchecked Sendable {
        private let source: any DispatchSourceFileSystemObject

        init(_ folder: String, _ onRename: @escaping @Sendable () -> Void) throws {
            let descriptor = open(folder, O_EVTONLY | O_CLOEXEC)
            try Failure.unless(descriptor >= 0, "\(folder) cannot be opened")
            source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: .write, queue: DispatchQueue(label: "VnodeWatch"))
            source.setEventHandler(handler: onRename)
            source.setCancelHandler { close(descriptor) }
            source.activate()
        }

        func cancel() {
            source.cancel()
        }
    }
#endif
