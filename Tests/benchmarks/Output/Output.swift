import Foundation

/// Flushes standard output, which is buffered unless it is a terminal.
func flushOutput() {
    fflush(nil)
}
