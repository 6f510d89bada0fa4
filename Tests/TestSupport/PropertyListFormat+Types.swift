public import PropertyListCoding

extension PropertyListFormat {
    /// The formats that have a form for every type; JSON has none for dates, data and uids.
    public static let ofEveryType: [PropertyListFormat] = [.binary, .xml]
}
