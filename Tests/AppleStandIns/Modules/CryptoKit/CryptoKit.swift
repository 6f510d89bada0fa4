// A stand-in for AES-GCM in Apple's module CryptoKit; swift-crypto's module Crypto declares the same.
public import Foundation

public struct SymmetricKeySize: Sendable {
    public let bitCount: Int
    public static var bits256: SymmetricKeySize { SymmetricKeySize(bitCount: 256) }
}

public struct SymmetricKey: Sendable {
    public init(size: SymmetricKeySize) {}
    public init(data: some ContiguousBytes) {}
}

public enum CryptoKitError: Error {
    case incorrectParameterSize
    case authenticationFailure
}

public enum AES {
    public enum GCM {
        public struct Nonce: Sendable {}
        public struct SealedBox: Sendable {
            public var combined: Data? { nil }
            public init(combined: some DataProtocol) throws {}
        }
        public static func seal(_ message: some DataProtocol, using key: SymmetricKey, nonce: Nonce? = nil) throws -> SealedBox {
            try SealedBox(combined: Data())
        }
        public static func open(_ sealedBox: SealedBox, using key: SymmetricKey) throws -> Data { Data() }
    }
}
