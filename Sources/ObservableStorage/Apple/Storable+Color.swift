#if canImport(SwiftUI)
    public import SwiftUI

    /// A color in the extended sRGB color space, whose components outside of 0...1 are in the gamut of other displays.
    struct ColorComponents {
        var red, green, blue, opacity: Double
    }

    extension ColorComponents {
        init(_ stored: PropertyListValue, as type: Any.Type) throws {
            let components = try [Double](propertyListValue: stored)
            guard components.count == 4 else { throw CodingFailure(type, found: "an array of \(components.count) numbers, not 4") }
            guard components.allSatisfy(\.isFinite) else { throw CodingFailure(type, found: stored.briefDescription) }
            self.init(red: components[0], green: components[1], blue: components[2], opacity: components[3])
        }

        /// An array of the four numbers, rounded to millionths: the frameworks compute some with the precision of `Float`, and a color that
        /// was read has to be stored unchanged.
        var propertyListValue: PropertyListValue {
            get throws {
                .array(
                    try [red, green, blue, opacity].map { component in
                        guard component.isFinite else { throw CodingFailure("a component of the color is \(component)") }
                        return .real((component * 1_000_000).rounded() / 1_000_000 + 0)
                    })
            }
        }
    }

    extension Color: Storable {
        /// A stored array of four numbers: red, green and blue in the extended sRGB color space, and the opacity.
        public init(propertyListValue: PropertyListValue) throws {
            let color = try ColorComponents(propertyListValue, as: Color.self)
            self.init(.sRGB, red: color.red, green: color.green, blue: color.blue, opacity: color.opacity)
        }

        /// An array of red, green, blue and opacity; for a color that differs between appearances, that of the light appearance.
        public var propertyListValue: PropertyListValue {
            get throws {
                let color = resolve(in: EnvironmentValues())
                return try ColorComponents(
                    red: Double(color.red), green: Double(color.green), blue: Double(color.blue), opacity: Double(color.opacity)
                ).propertyListValue
            }
        }
    }
#endif

#if canImport(UIKit)
    public import UIKit

    // A codec, because no extension can make a class that has subclasses conform to a protocol with an initializer.
    extension StorageCodec where Value == UIColor {
        /// Stores a color as SwiftUI's `Color` is stored; of one that differs between appearances, that of the present one.
        public static var color: StorageCodec {
            .custom(
                encode: { color in
                    var (red, green, blue, alpha): (CGFloat, CGFloat, CGFloat, CGFloat) = (0, 0, 0, 0)
                    guard color.getRed(&red, green: &green, blue: &blue, alpha: &alpha) else {
                        throw CodingFailure("the color has no components in sRGB")
                    }
                    return try ColorComponents(
                        red: Double(red), green: Double(green), blue: Double(blue), opacity: Double(alpha)
                    ).propertyListValue
                },
                decode: { stored in
                    let color = try ColorComponents(stored, as: UIColor.self)
                    return UIColor(red: color.red, green: color.green, blue: color.blue, alpha: color.opacity)
                })
        }
    }
#endif

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit

    extension StorageCodec where Value == NSColor {
        /// Stores a color as SwiftUI's `Color` is stored; of one that differs between appearances, that of the present one.
        public static var color: StorageCodec {
            .custom(
                encode: { color in
                    // A pattern has none.
                    guard let color = color.usingColorSpace(.extendedSRGB) else {
                        throw CodingFailure("the color has no components in sRGB")
                    }
                    return try ColorComponents(
                        red: Double(color.redComponent), green: Double(color.greenComponent), blue: Double(color.blueComponent),
                        opacity: Double(color.alphaComponent)
                    ).propertyListValue
                },
                decode: { stored in
                    let color = try ColorComponents(stored, as: NSColor.self)
                    // Extended sRGB outside of 0...1.
                    return NSColor(red: color.red, green: color.green, blue: color.blue, alpha: color.opacity)
                })
        }
    }
#endif
