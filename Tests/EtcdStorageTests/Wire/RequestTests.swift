import Testing

@testable import EtcdStorage

/// The bytes are those that `protoc` writes for the same message.
@Suite("Requests in protobuf", .timeLimit(.minutes(10))) struct RequestTests {
    private let key = Array("a".utf8)

    @Test("Requests of keys are written with every field that has an effect")
    func keyValues() {
        var range = RangeRequest(key: key, rangeEnd: [0], revision: 5, limit: 10, keysOnly: true, countOnly: true)
        range.minModRevision = 3
        #expect(range.message == [UInt8](hex: "0a0161 120100 180a 2005 4001 4801 5003"))
        #expect(RangeRequest(key: key).message == [UInt8](hex: "0a0161"))
        #expect(PutRequest(key: key, value: [1, 2], lease: 7).message == [UInt8](hex: "0a0161 12020102 1807"))
        #expect(DeleteRangeRequest(key: key, rangeEnd: [0x62]).message == [UInt8](hex: "0a0161 120162"))
        #expect(CompactionRequest(revision: .max).message == [UInt8](hex: "08ffffffffffffffff7f"))
    }

    @Test("A transaction is written with its comparisons and operations in order, and with zeros that are compared")
    func transaction() {
        let request = TxnRequest(
            compares: [
                .init(key: key, target: .modRevision(4)),
                .init(key: key, rangeEnd: [0], relation: .less, target: .createRevision(0)),
                .init(key: key, relation: .notEqual, target: .modRevision(0)),
                .init(key: key, relation: .greater, target: .createRevision(-1)),
            ],
            success: [.put(PutRequest(key: key, value: [])), .deleteRange(DeleteRangeRequest(key: [0x62]))],
            failure: [.range(RangeRequest(key: key)), .range(RangeRequest(key: []))])
        let expected = [UInt8](
            hex: """
                0a0710021a01613004 0a0d080210011a01612800820401 00 0a09080310021a01613000 \
                0a12080110011a016128ffffffffffffffffff01 \
                120512030a0161 12051a030a0162 1a050a030a0161 1a020a00
                """)
        #expect(request.message == expected)
        #expect(TxnRequest().message == [])
    }

    @Test("Messages to the stream of watches tell by their presence what is wanted")
    func watch() {
        let create = WatchRequest.Create(
            key: key, rangeEnd: [0x62], startRevision: 9, notifiesProgress: true, allowsFragments: true, includesPrevious: true)
        #expect(WatchRequest.create(create).message == [UInt8](hex: "0a0e 0a0161 120162 1809 2001 3001 4001"))
        #expect(WatchRequest.create(.init(key: [])).message == [UInt8](hex: "0a00"))
        #expect(WatchRequest.progress.message == [UInt8](hex: "1a00"))
    }

    @Test("Requests to a member are written with every field that has an effect")
    func members() {
        let authenticate = AuthenticateRequest(name: "root", password: "a\"\\\u{0}é😀")
        #expect(authenticate.message == [UInt8](hex: "0a04726f6f74 120a61225c00c3a9f09f9880"))
        #expect(AuthenticateRequest(name: "root", password: "").message == [UInt8](hex: "0a04726f6f74"))
        #expect(StatusRequest().message == [])
        #expect(LeaseGrantRequest(timeToLive: 600).message == [UInt8](hex: "08d804"))
        #expect(LeaseGrantRequest(timeToLive: -1).message == [UInt8](hex: "08ffffffffffffffffff01"))
        #expect(LeaseKeepAliveRequest(lease: 0x694D_8062_2DD3_E005).message == [UInt8](hex: "0885c0cfeea28ce0a669"))
        #expect(LeaseRevokeRequest(lease: 0x694D_8062_2DD3_E005).message == [UInt8](hex: "0885c0cfeea28ce0a669"))
    }

    @Test("Each request has the path of its method, and only a range changes nothing")
    func paths() {
        let requests: [any EtcdRequest.Type] = [
            RangeRequest.self, PutRequest.self, DeleteRangeRequest.self, TxnRequest.self, CompactionRequest.self, LeaseGrantRequest.self,
            LeaseKeepAliveRequest.self, LeaseRevokeRequest.self, AuthenticateRequest.self, StatusRequest.self,
        ]
        let methods = [
            "KV/Range", "KV/Put", "KV/DeleteRange", "KV/Txn", "KV/Compact", "Lease/LeaseGrant", "Lease/LeaseKeepAlive",
            "Lease/LeaseRevoke", "Auth/Authenticate", "Maintenance/Status",
        ]
        #expect(requests.map { $0.path } == methods.map { "/etcdserverpb.\($0)" })
        #expect(requests.map { $0.isRead } == [true] + [Bool](repeating: false, count: 9))
        #expect(WatchRequest.path == "/etcdserverpb.Watch/Watch")
    }
}
