extension StoreDirectory {
  /// The ID of the key for new files; 0 if they are not sealed.
  package var keyID: UInt64 { cipher?.keyID ?? 0 }

  /// Returns the encryption of a file with this preamble; nil if the store is not encrypted.
  ///
  /// Throws if the file is sealed with a key that is not known, or sealed or not unlike the store.
  /// That is no damage: with the right key the file can be read.
  package func encryption(
    _ preamble: FilePreamble, path: String
  ) throws(LogError) -> FileEncryption? {
    guard let cipher else {
      guard preamble.keyID == 0 else { throw .missingKey(path: path, keyID: preamble.keyID) }
      return nil
    }
    // Otherwise anyone could replace an encrypted file by one of their own.
    guard preamble.keyID != 0 else { throw .notEncrypted(path: path) }
    guard cipher.hasKey(preamble.keyID) else {
      throw .missingKey(path: path, keyID: preamble.keyID)
    }
    return FileEncryption(cipher, keyID: preamble.keyID, storeID: preamble.storeID)
  }

  /// Returns the file name of a view, which an encrypted store does not give away.
  package func fileName(ofView name: String) -> FileName {
    let digest = SHA256.digest(of: SharedBytes(utf8: name))
    return .view(of: cipher?.name(of: digest) ?? digest)
  }
}
