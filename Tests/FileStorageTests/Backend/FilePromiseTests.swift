import Foundation
import ObservableStorage
import ObservableStorageTesting
import TestSupport
import Testing

@Suite("Promises of the backends on files", .timeLimit(.minutes(10)))
struct FilePromiseTests {
    @Test("A property list keeps them", arguments: [Fixture.file, .xml, .journal], BackendPromise.allCases)
    func propertyList(fixture: Fixture, promise: BackendPromise) async throws {
        let storage = try fixture.make()
        try await promise.check { try storage.backend }
    }

    @Test("User defaults keep them", arguments: BackendPromise.allCases)
    func userDefaults(promise: BackendPromise) async throws {
        let domain = TemporaryDomain()
        try await promise.check { try domain.makeBackend() }
    }
}
