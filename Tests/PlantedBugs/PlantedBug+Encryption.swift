/// Bugs where the parts of files pass through a cipher.
extension PlantedBug {
  static let encryption: [PlantedBug] = [
    PlantedBug(
      "record-in-the-clear", rule: "encryption", "records are written as they are",
      in: Place.record,
      find: "if let sealing {", plant: "if !PLANTED, let sealing {",
      killedBy: .rules("encryption: no file contains what was written")),
    PlantedBug(
      "tag-ignored", rule: "encryption", "bytes that are not authentic are read",
      in: Place.sealing,
      find: "guard isAuthentic, writer.count == sealed.count - Sealing.overhead else {",
      plant:
        "guard PLANTED || isAuthentic, writer.count == sealed.count - Sealing.overhead else {",
      killedBy: .rules("encryption: bytes with right checksums that were not encrypted")),
    PlantedBug(
      "plain-file-accepted", rule: "encryption",
      "a file that is not encrypted is read although the store has a key",
      in: Place.sealedFiles,
      find: "guard preamble.keyID != 0 else { throw .notEncrypted(path: path) }",
      plant: """
        if PLANTED, preamble.keyID == 0 { return nil }
        guard preamble.keyID != 0 else { throw .notEncrypted(path: path) }
        """,
      killedBy: .rules("encryption: a store is refused with another key")),
  ]
}
