import EtcdStorage
import FoundationSubset
import ObservableStorage

// The options that locate entries in etcd, named like those of etcdctl.
extension EtcdConfiguration {
    /// The name of the option in place of the operand FILE.
    static let optionName = "etcd"
    /// The options as shown in the usage.
    static let options = [
        "--\(optionName) ENDPOINTS/PREFIX", "--etcd-user NAME", "--etcd-cacert FILE", "--etcd-cert FILE", "--etcd-key FILE",
    ]
    /// The environment variable with the password, which other users could read in an argument.
    static let passwordVariable = "ETCD_PASSWORD"

    /// Interprets the options, and the value of `--etcd`, or else the first operand, as `ENDPOINTS/PREFIX`: addresses separated by commas, and
    /// the prefix of the keys.
    init(_ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandError) {
        let operand = arguments.options[Self.optionName] ?? arguments.operands[0]
        if operand.prefix(while: { $0 != "/" }).contains("@") {
            // Without the operand, which may have the password.
            throw .usage("no user belongs into ENDPOINTS: name it with --etcd-user, and its password in \(Self.passwordVariable)")
        }
        guard let slash = operand.firstIndex(of: "/") else {
            throw .usage("etcd needs ENDPOINTS/PREFIX, such as localhost:2379/services/web: \(operand)")
        }
        let endpoints = operand[..<slash].split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        self.init(
            endpoints: endpoints, prefix: String(operand[operand.index(after: slash)...]),
            credentials: try Self.credentials(arguments, environment), tls: try Self.encryption(arguments))
    }

    private static func credentials(_ arguments: Arguments, _ environment: [String: String]) throws(CommandError) -> Credentials? {
        guard let user = arguments.options["etcd-user"] else { return nil }
        guard let password = environment[passwordVariable] else {
            throw .usage("--etcd-user needs the password in the environment variable \(passwordVariable)")
        }
        return Credentials(user: user, password: password)
    }

    private static func encryption(_ arguments: Arguments) throws(CommandError) -> TLSConfiguration? {
        let (authority, certificate, key) = (
            arguments.options["etcd-cacert"], arguments.options["etcd-cert"], arguments.options["etcd-key"]
        )
        guard (certificate == nil) == (key == nil) else { throw .usage("--etcd-cert and --etcd-key need each other") }
        guard authority != nil || certificate != nil else { return nil }
        var encryption = TLSConfiguration(authorities: authority.map { .certificates(.file($0)) } ?? .system)
        if let certificate, let key { encryption.identity = .init(certificate: .file(certificate), key: .file(key)) }
        return encryption
    }
}

extension EtcdBackend {
    /// Returns the backend for the value of `--etcd` and the other options, without connecting to the cluster; nil if it is not given.
    static func requested(by arguments: Arguments, requestTimeout: Duration = .seconds(5)) throws(CommandError) -> EtcdBackend? {
        guard arguments.has(EtcdConfiguration.optionName) else {
            if let option = arguments.etcdOption { throw .usage("--\(option) needs --\(EtcdConfiguration.optionName)") }
            return nil
        }
        return try make(arguments, requestTimeout: requestTimeout)
    }

    /// Returns the backend for the value of `--etcd`, or else the first operand, and the options, without connecting to the cluster.
    static func make(_ arguments: Arguments, requestTimeout: Duration = .seconds(5)) throws(CommandError) -> EtcdBackend {
        var configuration = try EtcdConfiguration(arguments)
        configuration.requestTimeout = requestTimeout
        do throws(StorageError) {
            _ = try configuration.parsedEndpoints()
        } catch {
            throw .usage(error.description)
        }
        do {
            return try EtcdBackend(configuration)
        } catch {
            throw CommandError(error)
        }
    }
}

extension Arguments {
    /// The name of an option for etcd that was given; nil if none was.
    var etcdOption: String? {
        EtcdConfiguration.options.map { String($0.dropFirst(2).prefix { $0 != " " }) }.first(where: has)
    }

    /// Inserts the value of `--etcd`, if it was given, as the operand FILE, unless operands before it are missing.
    mutating func insertEtcdOperand(at index: Int) {
        guard let operand = options[EtcdConfiguration.optionName], operands.count >= index else { return }
        operands.insert(operand, at: index)
    }
}
