import PropertyListCoding
import Testing

@Test("An integer has one representation") func integerEquality3() {
    #expect(PropertyListInteger(UInt64(5)) == PropertyListInteger(Int64(5)))
}
