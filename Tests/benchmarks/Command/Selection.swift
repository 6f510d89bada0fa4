/// Selects elements by name.
enum Selection {
    /// The elements selected by any of the names, in their own order.
    ///
    /// - Throws: ``UsageError`` with a name that selects nothing.
    static func choose<Element>(
        _ names: [String], from elements: [Element], by name: (Element) -> String
    ) throws(UsageError) -> [Element] {
        for wanted in names where !elements.contains(where: { name($0).hasPrefix(wanted) }) {
            throw UsageError("nothing is named \(wanted)")
        }
        return elements.filter { element in names.contains { name(element).hasPrefix($0) } }
    }
}
