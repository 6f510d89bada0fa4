import Foundation

/// Shows what was printed so far, also where standard output is no terminal.
func flushOutput() {
    fflush(nil)
}
