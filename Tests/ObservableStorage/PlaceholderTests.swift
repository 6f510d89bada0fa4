import PropertyListCoding
import Testing

@Test("An integer has one representation") func integerEquality2() {
    #expect(PropertyListInteger(UInt64(5)) == PropertyListInteger(Int64(5)))
}
