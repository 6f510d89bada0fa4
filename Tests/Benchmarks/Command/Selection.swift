/// Which of some names are asked for.
enum Selection {
    /// The elements that any of the names chooses, in their own order.
    ///
    /// - Throws: ``UsageError`` naming what chooses nothing.
    static func choose<Element>(
        _ names: [String], from elements: [Element], by name: (Element) -> String
    ) throws(UsageError) -> [Element] {
        for wanted in names where !elements.contains(where: { name($0).hasPrefix(wanted) }) {
            throw UsageError("nothing is named \(wanted)")
        }
        return elements.filter { element in names.contains { name(element).hasPrefix($0) } }
    }
}
