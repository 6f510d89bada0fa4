import Foundation

/// Prints what Foundation reads in a property list, as `{"format": ..., "root": ...}`, with the root in the JSON of `prefs read`.
///
/// A separate program, because Foundation may crash or not terminate. Exit status 1: Foundation rejects the file.
///
/// With `--batch` instead of a file, each line of standard input is a property list in base64, and is answered with a line: its
/// ``ExactText``, or `refused`. It exits after two seconds with one of them; the caller restarts it with the rest.
@main
enum FoundationOracle {
    static func main() throws {
        if CommandLine.arguments[1] == "--batch" { return answerAll() }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
        var format = PropertyListSerialization.PropertyListFormat.xml
        let root: Any
        do {
            root = try PropertyListSerialization.propertyList(from: bytes, options: [], format: &format)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
        let output = try #"{"format": \#(quoted(name(of: format))), "root": \#(json(root))}"#
        FileHandle.standardOutput.write(Data("\(output)\n".utf8))
    }

    private static func answerAll() {
        while let line = readLine() {
            alarm(2)
            let answer = text(of: Data(base64Encoded: line) ?? Data())
            FileHandle.standardOutput.write(Data("\(answer ?? "refused")\n".utf8))
        }
    }

    private static func text(of bytes: Data) -> String? {
        (try? PropertyListSerialization.propertyList(from: bytes, options: [], format: nil)).flatMap { ExactText.of($0) }
    }

    private static func name(of format: PropertyListSerialization.PropertyListFormat) -> String {
        switch format {
        case .binary: "binary"
        case .xml: "xml"
        case .openStep: "old-style"
        @unknown default: "unknown"
        }
    }

    // Only the dynamic type identifies a boolean: as a number it equals 1, and `as? Bool` accepts the number 1.
    private static func json(_ value: Any) throws -> String {
        switch value {
        case let boolean where type(of: boolean) == Bool.self: "\(boolean)"
        case let string as String: try quoted(string)
        case let date as Date: try quoted(text(of: date))
        case let data as Data: try quoted(data.base64EncodedString())
        case let array as [Any]: try "[\(joined(array.map { try json($0) }))]"
        case let dictionary as [String: Any]: try "{\(joined(dictionary.sorted { $0.key < $1.key }.map { try entry($0, $1) }))}"
        case let number as NSNumber: try json(number: number)
        default: try json(uid: value)
        }
    }

    private static func entry(_ key: String, _ value: Any) throws -> String {
        try "\(quoted(key)): \(json(value))"
    }

    private static func joined(_ parts: [String]) -> String {
        parts.joined(separator: ", ")
    }

    private static func json(number: NSNumber) throws -> String {
        guard ["f", "d"].contains(String(cString: number.objCType)) else { return "\(number)" }
        return number.doubleValue.isFinite ? "\(number.doubleValue)" : try quoted("\(number.doubleValue)")
    }

    /// ISO 8601, with enough fractional digits to distinguish adjacent dates.
    private static func text(of date: Date) throws -> String {
        guard var seconds = Decimal(string: date.timeIntervalSinceReferenceDate.description) else {
            throw CocoaError(.propertyListReadCorrupt)
        }
        var whole = Decimal()
        NSDecimalRound(&whole, &seconds, 0, .down)
        let fraction = seconds == whole ? "" : "\(seconds - whole)".dropFirst()
        let start = Date(timeIntervalSinceReferenceDate: NSDecimalNumber(decimal: whole).doubleValue)
        return start.formatted(.iso8601).dropLast() + fraction + "Z"
    }

    // Foundation has no API for the number of an archive's UID; its reflection on Linux shows it.
    private static func json(uid: Any) throws -> String {
        guard let value = Mirror(reflecting: uid).descendant("value") else {
            throw CocoaError(.propertyListReadCorrupt)
        }
        return #"{"CF$UID": \#(value)}"#
    }

    private static func quoted(_ string: String) throws -> String {
        String(decoding: try JSONEncoder().encode(string), as: UTF8.self)
    }
}
