/// Bugs in distinguishing a store's files from foreign ones, and in detecting a lost lock.
extension PlantedBug {
  static let ownership: [PlantedBug] = [
    PlantedBug(
      "foreign-directory-opened", rule: "ownership", "any directory is made a store",
      in: Place.ownership,
      find: """
        guard try isStore(files, foreign) else {
        // The header of a segment says best what is wrong with it.
        """,
      plant: """
        guard try PLANTED ? true : isStore(files, foreign) else {
          // The header of a segment says best what is wrong with it.
        """, killedBy: .rules("ownership: a directory of others")),
    PlantedBug(
      "foreign-directory-deleted", rule: "ownership", "any directory is deleted as a store",
      in: Place.deletion,
      find: "guard kind == .directory, try directory.isStore() else {",
      plant: "guard kind == .directory, try PLANTED ? true : directory.isStore() else {",
      killedBy: .rules("ownership: a directory of others")),
    PlantedBug(
      "foreign-temporary-removed", rule: "ownership",
      "opening empties `tmp` of what others put there",
      in: Place.storeOpening,
      find: """
        for name in try fileSystem.list(temporaries) where StoreDirectory.isTemporary(name) {
        """,
      plant: """
        for name in try fileSystem.list(temporaries)
        where PLANTED || StoreDirectory.isTemporary(name) {
        """, killedBy: .rules("ownership: what others put")),
    PlantedBug(
      "foreign-file-deleted", rule: "ownership", "a deletion takes files that no store names",
      in: Place.ownership,
      find: """
        if isOwn(name) {
          try visitFile(relativePath, visit)
        } else {
          try visit(.foreign(relativePath))
        }
        """,
      plant: """
        if PLANTED || isOwn(name) {
          try visitFile(relativePath, visit)
        } else {
          try visit(.foreign(relativePath))
        }
        """, killedBy: .rules("ownership: what others put")),
    PlantedBug(
      "linked-lock-written", rule: "ownership", "a symbolic link named LOCK is followed",
      edits: [
        Edit(
          Place.fileSystem,
          find: "let flags = O_RDONLY | O_NONBLOCK | (access == .readingOwn ? O_NOFOLLOW : 0)",
          plant: """
            let isOwn = access == .readingOwn && !PLANTED
            let flags = O_RDONLY | O_NONBLOCK | (isOwn ? O_NOFOLLOW : 0)
            """),
        Edit(
          Place.fileSystem,
          find: "let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK",
          plant: "let flags = O_RDWR | O_CREAT | (PLANTED ? 0 : O_NOFOLLOW) | O_NONBLOCK"),
        // The locked file is not the one at the path, so a second check would never end.
        Edit(
          Place.fileSystem,
          find: "try lock.checkPath()", plant: "if !PLANTED { try lock.checkPath() }"),
      ], killedBy: .rules("ownership: a link in the place of LOCK")),
    PlantedBug(
      "hard-linked-lock-written", rule: "ownership", "LOCK may be another file's second name",
      in: Place.fileSystem,
      find: "guard information.st_nlink <= 1 else {",
      plant: "guard PLANTED || information.st_nlink <= 1 else {",
      killedBy: .rules("ownership: a link in the place of LOCK")),
    PlantedBug(
      "linked-folder-followed", rule: "ownership", "a link in the place of a folder is opened",
      in: Place.ownership,
      find: """
        guard kind == .directory else {
        throw .foreignDirectory(
        """,
      plant: """
        guard PLANTED || kind == .directory else {
          throw .foreignDirectory(
        """, killedBy: .rules("ownership: a link in the place of a store's folder")),
    PlantedBug(
      "linked-folder-deleted", rule: "ownership",
      "a deletion follows a link in the place of a folder",
      in: Place.ownership,
      find: "guard try kind(of: folder) == .directory else { return try visit(.foreign(folder)) }",
      plant: """
        guard try PLANTED ? true : kind(of: folder) == .directory else {
          return try visit(.foreign(folder))
        }
        """, killedBy: .rules("ownership: a link in the place of a store's folder")),
    PlantedBug(
      "backup-within-a-store", rule: "ownership", "a backup is made among a store's files",
      in: Place.backup,
      find: "if place == own || isStore == true { return place }",
      plant: "if !PLANTED, place == own || isStore == true { return place }",
      killedBy: .rules("ownership: a backup is made neither")),
    PlantedBug(
      "backup-in-taken-place", rule: "ownership", "a backup is built in what stands at its name",
      edits: [
        Edit(
          Place.deletion,
          find: "if try !fileSystem.isTaken(free) { return free }",
          plant: "if try PLANTED ? true : !fileSystem.isTaken(free) { return free }"),
        Edit(
          Place.backup,
          find: "try fileSystem.makeDirectory(building)",
          plant: "if !PLANTED { try fileSystem.makeDirectory(building) }"),
      ], killedBy: .rules("ownership: a backup takes no name")),
    PlantedBug(
      "lost-lock-ignored", rule: "16", "a writer goes on whose LOCK was removed",
      in: Place.commits,
      find: "return .success(try directory.checkPath())",
      plant: """
        if !PLANTED { try directory.checkPath() }
        return .success(())
        """, killedBy: .rules("ownership: a writer whose LOCK is gone")),
    PlantedBug(
      "no-inode-keeps-from-opening", rule: "15", "where no file can be made, nothing is read",
      in: Place.storeOpening,
      find: "} catch  where error.code == .diskFull {",
      plant: "} catch  where error.code == .diskFull && !PLANTED {",
      killedBy: .rules("rule 15: where no file can be made")),
    PlantedBug(
      "no-descriptor-stops-writer", rule: "8",
      "a call that could not begin stops the writer for good",
      in: Place.writer,
      find: "if !failure.isLackOfDescriptors || (try? directory.remove(name)) == nil {",
      plant:
        "if PLANTED || !failure.isLackOfDescriptors || (try? directory.remove(name)) == nil {",
      killedBy: .rules("rule 8: a lack of descriptors")),
  ]
}
