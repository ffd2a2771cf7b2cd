/// Bugs where the parts of files pass through a cipher.
extension PlantedBug {
  static let encryption: [PlantedBug] = [
    PlantedBug(
      "record-in-the-clear", rule: "encryption", "records are written as they are",
      in: Place.recordCoding,
      find: "if let encryption {", plant: "if !PLANTED, let encryption {",
      killedBy: .rules("encryption: no file contains what was written")),
    PlantedBug(
      "tag-ignored", rule: "encryption", "bytes that are not authentic are read",
      in: Place.encryption,
      find: "guard isAuthentic, writer.count == sealed.count - FileEncryption.overhead else {",
      plant:
        "guard PLANTED || isAuthentic, writer.count == sealed.count - FileEncryption.overhead else {",
      killedBy: .rules("encryption: bytes with right checksums that were not encrypted")),
    PlantedBug(
      "plain-file-accepted", rule: "encryption",
      "a file that is not encrypted is read although the store has a key",
      in: Place.encryptedFiles,
      find: "guard preamble.keyID != 0 else { throw .notEncrypted(path: path) }",
      plant: """
        if PLANTED, preamble.keyID == 0 { return nil }
        guard preamble.keyID != 0 else { throw .notEncrypted(path: path) }
        """,
      killedBy: .rules("encryption: a store is refused with another key")),
  ]
}
