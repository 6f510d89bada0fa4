#if os(Linux)
    /// The baseline for detecting a rename on this system.
    typealias BareWatch = InotifyWatch
#elseif canImport(Darwin)
    /// The baseline for detecting a rename on this system.
    typealias BareWatch = VnodeWatch
#endif
