/// Bugs in the files in which views keep their rows from one opening to the next.
extension PlantedBug {
  static let views: [PlantedBug] = [
    PlantedBug(
      "view-before-durable", rule: "views",
      "a view's file contains rows of commits that may still be lost",
      in: Place.viewFile,
      find: "try store.commits.waitUntilDurable(origin.commit)",
      plant: "if !PLANTED { try store.commits.waitUntilDurable(origin.commit) }",
      killedBy: .rules("a view's file covers only durable commits"), needsLoss: true),
    PlantedBug(
      "view-unchecked", rule: "views", "the checksums of a view's file are not verified",
      in: Place.viewFrames,
      find: """
        payload = try frame.payload(
          in: padded, at: offset, salt: header.preamble.salt, encryptedBy: encryption)
        """,
      plant: """
        if PLANTED { payload = padded.prefix(frame.payloadSize) } else {
          payload = try frame.payload(
            in: padded, at: offset, salt: header.preamble.salt, encryptedBy: encryption)
        }
        """,
      killedBy: .rules("a view's file with a changed byte is not used")),
    PlantedBug(
      "view-keeps-purged", rule: "views",
      "documents purged after a view's file was written stay in the view",
      in: Place.viewContents,
      find:
        "if origin?.commit != snapshot.view.state.commit { try removePurged(snapshot, isCancelled) }",
      plant:
        "if !PLANTED, origin?.commit != snapshot.view.state.commit { try removePurged(snapshot, isCancelled) }",
      killedBy: .rules("a document purged after a view's file was written")),
    PlantedBug(
      "view-of-a-lost-log", rule: "views",
      "a view's file of commits that the store lost is not deleted at opening",
      in: Place.foreignViews,
      find: "header.preamble.storeID == storeID, header.origin.isBefore(state)",
      plant: "PLANTED || header.preamble.storeID == storeID && header.origin.isBefore(state)",
      killedBy: .rules("a view's file of commits that the store lost")),
    PlantedBug(
      "view-of-any-version", rule: "views",
      "a view's file is used for any version of the view",
      in: Place.viewIndex,
      find: "self.view.isSame(as: view) && header.collation == UInt64(Collation.version)",
      plant: """
        (PLANTED || self.view.isSame(as: view)) && header.collation == UInt64(Collation.version)
        """, killedBy: .rules("a view's file of another version of the view is not used")),
  ]
}
