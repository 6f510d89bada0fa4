// A stand-in for the part of Apple's AppKit that windows and view controllers are reached through.
import Foundation

@MainActor @preconcurrency open class NSResponder { public init() {} }
open class NSColorSpace: NSObject, @unchecked Sendable {
    open class var extendedSRGB: NSColorSpace { fatalError() }
}
open class NSColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    open class var red: NSColor { fatalError() }
    open func usingColorSpace(_ space: NSColorSpace) -> NSColor? { nil }
    open var redComponent: CGFloat { 0 }
    open var greenComponent: CGFloat { 0 }
    open var blueComponent: CGFloat { 0 }
    open var alphaComponent: CGFloat { 0 }
}
public struct NSUserInterfaceItemIdentifier: RawRepresentable, Hashable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }
}
@MainActor @preconcurrency open class NSWindow: NSResponder {
    open var identifier: NSUserInterfaceItemIdentifier?
    open var title = ""
}
@MainActor @preconcurrency open class NSView: NSResponder { open var window: NSWindow? { nil } }
@MainActor @preconcurrency open class NSViewController: NSResponder {
    open var view: NSView {
        get { fatalError() }
        set {}
    }
    open var title: String?
    open var isViewLoaded: Bool { false }
    open var parent: NSViewController? { nil }
    open func viewDidLoad() {}
}
@MainActor @preconcurrency open class NSWindowController: NSResponder {
    open var window: NSWindow?
    open var isWindowLoaded: Bool { false }
    open func windowDidLoad() {}
}
@MainActor @preconcurrency open class NSApplication: NSResponder {
    public static var shared: NSApplication { fatalError() }
    nonisolated public static let willTerminateNotification = Notification.Name("NSApplicationWillTerminateNotification")
}
