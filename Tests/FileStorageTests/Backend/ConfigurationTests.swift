import TestSupport
import Testing

@testable import ObservableStorage

@Suite("The configuration of a property list", .timeLimit(.minutes(10)))
struct ConfigurationTests {
    @Test("The labelled initializer, a suite and a configuration without changes have the same defaults")
    func defaults() throws {
        let file = try TemporaryFolder().file("settings.plist")
        let configuration = PropertyListFile.Configuration()
        #expect(PropertyListFile(at: file).configuration == configuration)
        #expect(PropertyListFile(at: file, configuration: configuration).configuration == configuration)
        #expect(PropertyListFile(suiteName: "org.example").configuration == configuration)
    }

    @Test("Access and journal are those of the arguments, and otherwise those of the configuration")
    func arguments() async throws {
        let file = try TemporaryFolder().file("settings.plist")
        var configuration = PropertyListFile.Configuration()
        (configuration.access, configuration.journal, configuration.format) = (.readWrite, .full(), .xml)
        #expect(PropertyListFile(at: file, configuration: configuration).configuration == configuration)
        let log = PropertyListFile(at: file, journal: .off, configuration: configuration).configuration
        #expect((log.access, log.journal, log.format) == (.readWrite, .off, .xml))
        #expect(PropertyListFile(at: file, access: .readOnly, configuration: configuration).isReadOnly)
        configuration.access = .readOnly
        #expect(PropertyListFile(at: file, configuration: configuration).isReadOnly)
        #expect(!PropertyListFile(at: file, access: .readWrite, configuration: configuration).isReadOnly)
        let store = try ObservableStore(at: file, access: .readWrite, journal: .full(), configuration: configuration)
        #expect(!store.isReadOnly && store.journaling != nil)
        try await store.close()
    }

    @Test("A file that is only read has no journal, is not moved aside, and is not written in place")
    func readOnly() throws {
        var configuration = PropertyListFile.Configuration()
        (configuration.journal, configuration.onCorruption) = (.full(), .quarantine)
        (configuration.inPlaceWriting, configuration.access) = (.whenNecessary(), .readOnly)
        configuration.onDeletion = .keepLastValues
        let file = PropertyListFile(at: try TemporaryFolder().file("settings.plist"), configuration: configuration)
        (configuration.journal, configuration.onCorruption, configuration.inPlaceWriting) = (.off, .refuse, .never)
        #expect(file.configuration == configuration)
        #expect(file.isReadOnly && !file.journal.mode.hasJournal)
    }

    @Test("A file that may be written in place makes no journal, and keeps the log of edits")
    func inPlace() throws {
        var configuration = PropertyListFile.Configuration()
        (configuration.journal, configuration.inPlaceWriting) = (.full(), .whenNecessary())
        let file = PropertyListFile(at: try TemporaryFolder().file("settings.plist"), configuration: configuration)
        #expect(!file.journal.mode.hasJournal && file.configuration.journal.hasLog)
    }
}
