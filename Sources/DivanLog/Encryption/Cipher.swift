/// A cipher that a store is encrypted with, and its keys.
///
/// Divan has none of its own. It calls the cipher for each *part* of a file that has contents: a
/// record, the payload of a frame, a piece of an attachment. Sealing a part encrypts it, and
/// authenticates it together with its *context*, which says what the part is and where it belongs.
/// The context itself is not stored. A sealed part is laid out as the `combined` boxes of
/// CryptoKit's AES-GCM and ChaChaPoly:
///
/// ```
/// nonce 12 · ciphertext, as long as the part · tag 16
/// ```
///
/// Any thread may call it at any time. FILE_FORMAT.md §21
package protocol Cipher: Sendable {
  /// The ID of the key for new files, which is not 0.
  ///
  /// It must follow from the key, for example as a part of its digest. Then a wrong key is noticed
  /// when a file is opened, and is not mistaken for damage.
  var keyID: UInt64 { get }

  /// Whether the cipher has the key with this ID.
  func hasKey(_ id: UInt64) -> Bool

  /// Appends a part, sealed with a key that the cipher has.
  ///
  /// No two calls for the same key use the same nonce.
  func seal(
    _ part: Span<UInt8>, key: UInt64, authenticating context: Span<UInt8>,
    to writer: inout ByteWriter)

  /// Appends a part that was sealed with this key in this context, and returns true.
  ///
  /// Returns false if it was not. The appended bytes are then not used.
  func open(
    _ sealed: Span<UInt8>, key: UInt64, authenticating context: Span<UInt8>,
    to writer: inout ByteWriter
  ) -> Bool

  /// Returns the 32 bytes that name a blob with this digest.
  ///
  /// The digest of known content would give the content away. The names must be as good as random
  /// to everyone without the key, and must not change when the store gets another key.
  func name(of digest: SHA256.Digest) -> SHA256.Digest

  /// Returns the digest whose name this is: the inverse of ``name(of:)``.
  func digest(ofName name: SHA256.Digest) -> SHA256.Digest
}
