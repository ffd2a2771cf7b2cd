/// Bugs in distinguishing a store's files from those of other programs, and in detecting a lost
/// lock.
extension PlantedBug {
  static let ownership: [PlantedBug] = [
    PlantedBug(
      "foreign-directory-opened", rule: "ownership", "any directory is opened as a store",
      in: Place.ownership,
      find: """
        guard try isStore(files, foreign) else {
        // The header of a segment says best what is wrong with it.
        """,
      plant: """
        guard try PLANTED ? true : isStore(files, foreign) else {
          // The header of a segment says best what is wrong with it.
        """, killedBy: .rules("ownership: another program's directory is neither opened")),
    PlantedBug(
      "foreign-directory-deleted", rule: "ownership", "any directory is deleted as a store",
      in: Place.deletion,
      find: "guard kind == .directory, try directory.isStore() else {",
      plant: "guard kind == .directory, try PLANTED ? true : directory.isStore() else {",
      killedBy: .rules("ownership: another program's directory is neither opened")),
    PlantedBug(
      "foreign-temporary-removed", rule: "ownership",
      "opening deletes other programs' files in `tmp`",
      in: Place.storeOpening,
      find: """
        for name in try fileSystem.list(temporaries) where StoreDirectory.isTemporary(name) {
        """,
      plant: """
        for name in try fileSystem.list(temporaries)
        where PLANTED || StoreDirectory.isTemporary(name) {
        """, killedBy: .rules("ownership: other programs' files in a store survive opening")),
    PlantedBug(
      "foreign-file-deleted", rule: "ownership", "a deletion removes files that no store has",
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
        """, killedBy: .rules("ownership: other programs' files in a store survive opening")),
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
      ], killedBy: .rules("ownership: a link named LOCK is not written through")),
    PlantedBug(
      "hard-linked-lock-written", rule: "ownership", "a hard link named LOCK is written through",
      in: Place.fileSystem,
      find: "guard information.st_nlink <= 1 else {",
      plant: "guard PLANTED || information.st_nlink <= 1 else {",
      killedBy: .rules("ownership: a link named LOCK is not written through")),
    PlantedBug(
      "linked-folder-followed", rule: "ownership", "a link named like a store's folder is followed",
      in: Place.ownership,
      find: """
        guard kind == .directory else {
        throw .foreignDirectory(
        """,
      plant: """
        guard PLANTED || kind == .directory else {
          throw .foreignDirectory(
        """, killedBy: .rules("ownership: a link named like a store's folder is not followed")),
    PlantedBug(
      "linked-folder-deleted", rule: "ownership",
      "a deletion follows a link named like a store's folder",
      in: Place.ownership,
      find: "guard try kind(of: folder) == .directory else { return try visit(.foreign(folder)) }",
      plant: """
        guard try PLANTED ? true : kind(of: folder) == .directory else {
          return try visit(.foreign(folder))
        }
        """, killedBy: .rules("ownership: a link named like a store's folder is not followed")),
    PlantedBug(
      "backup-within-a-store", rule: "ownership", "a backup is made within a store",
      in: Place.backup,
      find: "if directory == own || isStore == true { return directory }",
      plant: "if !PLANTED, directory == own || isStore == true { return directory }",
      killedBy: .rules("ownership: a backup neither replaces a file nor goes")),
    PlantedBug(
      "backup-in-taken-place", rule: "ownership",
      "a backup is built in a directory that exists already",
      edits: [
        Edit(
          Place.deletion,
          find: "if try !fileSystem.isTaken(free) { return free }",
          plant: "if try PLANTED ? true : !fileSystem.isTaken(free) { return free }"),
        Edit(
          Place.backup,
          find: "try fileSystem.makeDirectory(building)",
          plant: "if !PLANTED { try fileSystem.makeDirectory(building) }"),
      ], killedBy: .rules("ownership: a backup is not built under a name that another")),
    PlantedBug(
      "lost-lock-ignored", rule: "16", "a writer continues after its LOCK was removed",
      in: Place.commits,
      find: "return .success(try directory.checkPath())",
      plant: """
        if !PLANTED { try directory.checkPath() }
        return .success(())
        """, killedBy: .rules("ownership: a writer whose LOCK is gone")),
    PlantedBug(
      "no-inode-keeps-from-opening", rule: "15",
      "a store cannot be opened where no file can be created",
      in: Place.storeOpening,
      find: "} catch  where error.code == .diskFull {",
      plant: "} catch  where error.code == .diskFull && !PLANTED {",
      killedBy: .rules("rule 15: a store can be read where no file can be created")),
    PlantedBug(
      "no-descriptor-stops-writer", rule: "8",
      "a lack of file descriptors stops the writer permanently",
      in: Place.writer,
      find: "if !failure.isLackOfDescriptors || (try? directory.remove(name)) == nil {",
      plant:
        "if PLANTED || !failure.isLackOfDescriptors || (try? directory.remove(name)) == nil {",
      killedBy: .rules("rule 8: running out of file descriptors fails one commit")),
  ]
}
