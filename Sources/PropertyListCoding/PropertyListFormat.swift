/// A way to write a property list down as bytes.
public enum PropertyListFormat: Sendable, Hashable, CaseIterable {
    /// `bplist00`: compact, and loses nothing.
    case binary
    /// Apple's XML: readable, but dates are cut to whole seconds and text cannot hold control characters.
    case xml
}
