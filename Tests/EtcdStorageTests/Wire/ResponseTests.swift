import Testing

@testable import EtcdStorage

/// The bytes are those that `protoc` writes for the same message.
@Suite("Answers in protobuf", .timeLimit(.minutes(10))) struct ResponseTests {
    private func response<Request: EtcdRequest>(to request: Request.Type, _ hex: String) throws(EtcdFailure) -> Request.Response {
        try Request.Response(message: [UInt8](hex: hex))
    }

    private func watch(_ hex: String) throws(EtcdFailure) -> WatchResponse {
        try WatchResponse(message: [UInt8](hex: hex))
    }

    @Test("Fields that are left out are zero")
    func keyValues() throws {
        let hex = """
            0a12 08ffffffffffffffffff01 10ac02 1807 2002 1217 0a0161 1006 1807 2002 2a0101 30fbffffffffffffffff01 1200 1801 2002
            """
        let range = try response(to: RangeRequest.self, hex)
        #expect(range.header == ResponseHeader(clusterID: .max, revision: 7))
        let first = KeyValue(key: [0x61], value: [1], createRevision: 6, modRevision: 7)
        #expect(try range.keyValues == [first, KeyValue()])
        #expect(try range.details?.lease == -5)
        #expect(range.hasMore)
        #expect(range.count == 2)
        let empty = try response(to: RangeRequest.self, "")
        #expect(empty.header == ResponseHeader() && empty.unread.isEmpty && !empty.hasMore && empty.count == 0)
    }

    @Test("What has no use here is passed over: the earlier values of keys")
    func changes() throws {
        let header = "0a12 08ffffffffffffffffff01 10ac02 1807 2002"
        #expect(try response(to: PutRequest.self, "\(header) 12030a0161").header.revision == 7)
        #expect(try response(to: CompactionRequest.self, "0a021809").header == ResponseHeader(revision: 9))
    }

    @Test("What the operations of a transaction have read is in their order, nil for those that write")
    func transaction() throws {
        let txn = try response(to: TxnRequest.self, "0a021809 1001 1a090a0712030a01612001 1a0612040a021809 1a021200 1a041a021003")
        #expect(txn.header.revision == 9)
        #expect(txn.succeeded)
        #expect(txn.ranges == [[KeyValue(key: [0x61])], nil, nil, nil])
    }

    @Test("A response to an operation of a type that is not known is an error, not a gap", arguments: ["1a00", "1a022200"])
    func unknownOperation(hex: String) {
        let failure = #expect(throws: EtcdFailure.self) { try response(to: TxnRequest.self, hex) }
        #expect(failure?.message == "the response cannot be read: the result of an operation was expected (at byte 1)")
    }

    @Test("A lease is read as it was granted and renewed")
    func lease() throws {
        let granted = try response(to: LeaseRequest.self, "0a021809 1085c0cfeea28ce0a669 18ac02 220178")
        let header = ResponseHeader(revision: 9)
        #expect(granted == LeaseRequest.Response(header: header, lease: 0x694D_8062_2DD3_E005, timeToLive: 300))
        let short = LeaseRequest.Response(header: header, lease: 5, timeToLive: 300)
        #expect(try response(to: LeaseRequest.self, "0a021809 1005 18ac02") == short)
        // Of a lease that has expired, or was revoked.
        #expect(try response(to: LeaseRequest.self, "0a0218091005").timeToLive == 0)
        #expect(try response(to: LeaseRequest.self, "0a021809") == LeaseRequest.Response(header: header))
    }

    @Test("A token, and what a member tells about itself, are read")
    func members() throws {
        #expect(try response(to: AuthenticateRequest.self, "0a00 12064162432e3132").token == "AbC.12")
        let hex = "0a021005 1206332e342e3233 1880a001 2005 2808 3002 3808 420161 420162 48808001 5001"
        let status = try response(to: StatusRequest.self, hex)
        #expect(status == StatusRequest.Response(version: "3.4.23", leader: 5))
    }

    @Test("A watch that is refused is begun and cancelled at once, with the reason")
    func refusedWatch() throws {
        let response = try watch("0a00 1801 2001 321d 657463647365727665723a207065726d697373696f6e2064656e696564")
        #expect(response.isCreated && response.isCanceled && !response.isProgress)
        #expect(response.cancelReason == "etcdserver: permission denied")
        #expect(response.failure?.isPermissionDenied == true)
    }

    @Test("A watch of compacted revisions is cancelled with the oldest one that is left")
    func compactedWatch() throws {
        let response = try watch("0a00 2001 280c")
        #expect(response.compactRevision == 12)
        #expect(response.failure?.isCompacted == true)
    }

    @Test("A message without events is progress, unless it says something about the watch")
    func progress() throws {
        let progress = try watch("0a0408071809 10ffffffffffffffffff01")
        #expect(progress == WatchResponse(header: ResponseHeader(clusterID: 7, revision: 9)))
        #expect(progress.isProgress)
        #expect(try watch("0a021809").isProgress)
        #expect(try !watch("0a00 1801").isProgress)
        #expect(try !watch("2001").isProgress)
        #expect(try !watch("5a00").isProgress)
        #expect(try watch("0a00 1801").failure == nil)
    }

    @Test("Events tell whether the key was deleted, and what it was before")
    func events() throws {
        let response = try watch("3801 5a0e 0801 12050a01611808 1a032a0101 5a021200 5a00")
        #expect(response.isFragment)
        #expect(response.events.map(\.isDelete) == [true, false, false])
        #expect(response.events.map(\.keyValue) == [KeyValue(key: [0x61], modRevision: 8), KeyValue(), KeyValue()])
        #expect(response.events.map(\.previous) == [KeyValue(value: [1]), nil, nil])
    }

    @Test("A revision that is negative, or the largest number, after which there is no other, is an error", arguments: [-1, Int64.max])
    func impossibleRevision(_ revision: Int64) throws {
        let header = ResponseHeader(clusterID: 7, revision: revision)
        #expect(throws: EtcdFailure.self) { _ = try RangeRequest.Response(message: HeaderResponse(header: header).message) }
        #expect(throws: EtcdFailure.self) { _ = try KeyValue(message: KeyValue(key: [1], modRevision: revision).message) }
        #expect(throws: EtcdFailure.self) {
            _ = try WatchResponse(message: WatchResponse(isCanceled: true, compactRevision: revision).message)
        }
    }

    @Test("10,000 keys are read")
    func large() throws {
        var writer = ProtobufWriter()
        for number in 0..<10_000 {
            writer.message(2) {
                $0.field(1, "app/key\(number)")
                $0.field(3, number)
                $0.field(5, [UInt8](repeating: UInt8(number & 0xFF), count: 60))
            }
        }
        let response = try RangeRequest.Response(message: writer.bytes)
        #expect(try response.keyValues.map(\.modRevision) == Array(0..<10_000))
        #expect(try response.keyValues.last?.key == Array("app/key9999".utf8))
        #expect(try response.keyValues.last?.value == [UInt8](repeating: 0x0F, count: 60))
    }
}
