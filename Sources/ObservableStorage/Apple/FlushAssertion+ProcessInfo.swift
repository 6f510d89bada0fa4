#if canImport(Darwin) && !os(macOS)
    import FoundationSubset

    extension FlushAssertion {
        /// The activity of `ProcessInfo`, which, unlike that of `UIApplication`, extensions may use as well.
        ///
        /// Its closure is called on a concurrent queue: with false, and the activity lasts until it returns; again with true when its time
        /// is about to run out; only with true if the activity is refused. (Apple's documentation of
        /// `performExpiringActivity(withReason:using:)`)
        static let system: ExpiringActivity? = { reason, body in
            ProcessInfo.processInfo.performExpiringActivity(withReason: reason, using: body)
        }
    }
#endif
