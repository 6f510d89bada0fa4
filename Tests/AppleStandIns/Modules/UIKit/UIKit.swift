// A stand-in for the part of Apple's UIKit that scenes, views and view controllers are reached through.
import Foundation

@MainActor @preconcurrency open class UIResponder { public init() {}; open var next: UIResponder? { nil } }
@MainActor @preconcurrency public class UISceneSession: Hashable {
    public var persistentIdentifier: String { "" }
    public var scene: UIScene? { nil }
    public var userInfo: [String: Any]?
    nonisolated public static func == (a: UISceneSession, b: UISceneSession) -> Bool { a === b }
    nonisolated public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
@MainActor @preconcurrency open class UIScene: UIResponder {
    public enum ActivationState: Int, Sendable { case unattached = -1, foregroundActive, foregroundInactive, background }
    public var session: UISceneSession { fatalError() }
    open var title: String!
    public var activationState: ActivationState { .foregroundActive }
    nonisolated public static let willDeactivateNotification = Notification.Name("UISceneWillDeactivateNotification")
    nonisolated public static let didDisconnectNotification = Notification.Name("UISceneDidDisconnectNotification")
    nonisolated public static let didEnterBackgroundNotification = Notification.Name("UISceneDidEnterBackgroundNotification")
}
@MainActor @preconcurrency open class UIWindowScene: UIScene { public var windows: [UIWindow] { [] } }
@MainActor @preconcurrency open class UIView: UIResponder { open var window: UIWindow? { nil }; open var superview: UIView? { nil } }
@MainActor @preconcurrency open class UIWindow: UIView {
    open var windowScene: UIWindowScene?; open var rootViewController: UIViewController?
}
@MainActor @preconcurrency open class UIViewController: UIResponder {
    open var view: UIView! {
        get { nil }
        set {}
    }
    open var title: String?
    open var viewIfLoaded: UIView? { nil }
    open var isViewLoaded: Bool { false }
    open var parent: UIViewController? { nil }
    open func viewDidLoad() {}
    open func viewDidAppear(_ animated: Bool) {}
}
@MainActor @preconcurrency open class UIApplication: UIResponder {
    public static var shared: UIApplication { fatalError() }
    public var connectedScenes: Set<UIScene> { [] }
    public var openSessions: Set<UISceneSession> { [] }
    nonisolated public static let willTerminateNotification = Notification.Name("UIApplicationWillTerminateNotification")
    nonisolated public static let didEnterBackgroundNotification = Notification.Name("UIApplicationDidEnterBackgroundNotification")
    nonisolated public static let protectedDataWillBecomeUnavailableNotification = Notification.Name(
        "UIApplicationProtectedDataWillBecomeUnavailable")
    nonisolated public static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")
}
extension UIScene: Hashable {
    nonisolated public static func == (a: UIScene, b: UIScene) -> Bool { a === b }
    nonisolated public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
@MainActor @preconcurrency public protocol UIApplicationDelegate: AnyObject {
    func application(_ application: UIApplication, didDiscardSceneSessions sceneSessions: Set<UISceneSession>)
}
