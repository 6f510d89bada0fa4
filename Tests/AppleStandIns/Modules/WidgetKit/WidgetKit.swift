// A stand-in for the part of Apple's WidgetKit that a widget with a timeline uses. `Widget` and `WidgetConfiguration` are SwiftUI's.
import Foundation
import SwiftUI

@MainActor @preconcurrency public protocol WidgetConfiguration {
    associatedtype Body: WidgetConfiguration
    var body: Body { get }
}
extension Never: WidgetConfiguration {}
@MainActor @preconcurrency public protocol Widget {
    associatedtype Body: WidgetConfiguration
    init()
    var body: Body { get }
}
public protocol TimelineEntry { var date: Date { get } }
public struct TimelineProviderContext {}
public struct TimelineReloadPolicy: Equatable { public static var never: TimelineReloadPolicy { TimelineReloadPolicy() } }
public struct Timeline<EntryType: TimelineEntry> { public init(entries: [EntryType], policy: TimelineReloadPolicy) {} }
public protocol TimelineProvider {
    associatedtype Entry: TimelineEntry
    typealias Context = TimelineProviderContext
    func placeholder(in context: Context) -> Entry
    @preconcurrency func getSnapshot(in context: Context, completion: @escaping @Sendable (Entry) -> Void)
    @preconcurrency func getTimeline(in context: Context, completion: @escaping @Sendable (Timeline<Entry>) -> Void)
}
public struct StaticConfiguration<Content: View>: WidgetConfiguration {
    nonisolated public init<Provider: TimelineProvider>(
        kind: String, provider: Provider, @ViewBuilder content: @escaping (Provider.Entry) -> Content
    ) {}
    public var body: Never { fatalError() }
}
public final class WidgetCenter: @unchecked Sendable {
    public static let shared = WidgetCenter()
    public func reloadTimelines(ofKind kind: String) {}
}
