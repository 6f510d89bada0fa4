#if os(Linux)
    /// The bare cost of noticing a rename here.
    typealias BareWatch = InotifyWatch
#elseif canImport(Darwin)
    /// The bare cost of noticing a rename here.
    typealias BareWatch = VnodeWatch
#endif
