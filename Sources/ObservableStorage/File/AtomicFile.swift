/// Reading and replacing whole files so that nobody ever sees half of one.
///
/// Nothing here takes a lock: a writer that must not undo another's work holds the ``FileLock`` of the path meanwhile.
package enum AtomicFile {
    /// The largest file that is read, in bytes: far beyond any property list, and short of what exhausts a machine.
    package static let largestSize = 1 << 30
}
