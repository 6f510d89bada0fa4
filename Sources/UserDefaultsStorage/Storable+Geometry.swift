#if !canImport(Darwin)
    public import Foundation
    public import ObservableStorage

    extension CGFloat: Storable, StandardStorable {
        /// Creates a number from a stored real, or from an integer that a `CGFloat` holds exactly.
        public init(propertyListValue: PropertyListValue) throws {
            self.init(try NativeType(propertyListValue: propertyListValue))
        }

        /// A real.
        public var propertyListValue: PropertyListValue { .real(Double(native)) }
    }

    extension CGPoint: Storable, StandardStorable {
        /// Creates a point from a stored dictionary with the numbers `x` and `y`; other entries are ignored.
        public init(propertyListValue stored: PropertyListValue) throws {
            self.init(x: try stored.entry("x", of: Self.self) as CGFloat, y: try stored.entry("y", of: Self.self) as CGFloat)
        }

        /// A dictionary with the reals `x` and `y`.
        public var propertyListValue: PropertyListValue { .dictionary(["x": .real(x), "y": .real(y)]) }
    }

    extension CGSize: Storable, StandardStorable {
        /// Creates a size from a stored dictionary with the numbers `width` and `height`; other entries are ignored.
        public init(propertyListValue stored: PropertyListValue) throws {
            self.init(
                width: try stored.entry("width", of: Self.self) as CGFloat, height: try stored.entry("height", of: Self.self) as CGFloat)
        }

        /// A dictionary with the reals `width` and `height`.
        public var propertyListValue: PropertyListValue { .dictionary(["width": .real(width), "height": .real(height)]) }
    }

    extension CGRect: Storable, StandardStorable {
        /// Creates a rectangle from a stored dictionary with the numbers `x`, `y`, `width` and `height`; other entries are ignored.
        public init(propertyListValue stored: PropertyListValue) throws {
            let origin = CGPoint(x: try stored.entry("x", of: Self.self) as CGFloat, y: try stored.entry("y", of: Self.self) as CGFloat)
            let size = CGSize(
                width: try stored.entry("width", of: Self.self) as CGFloat, height: try stored.entry("height", of: Self.self) as CGFloat)
            self.init(origin: origin, size: size)
        }

        /// A dictionary with the reals `x`, `y`, `width` and `height`; negative sizes are kept.
        public var propertyListValue: PropertyListValue {
            .dictionary(["x": .real(origin.x), "y": .real(origin.y), "width": .real(size.width), "height": .real(size.height)])
        }
    }
#endif
