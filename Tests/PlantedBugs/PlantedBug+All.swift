extension PlantedBug {
  /// All that are planted, in the order in which their places are looked for.
  static let all: [PlantedBug] =
    flushing + ordering + sequences + merging + segments + opening + reading + checkpoints
    + committing + bytes + indexes + revisions + secondaryIndexes + views + ownership
    + damage

  /// A simulated disk that never loses anything: with it the proofs are worth nothing.
  static let diskThatNeverLoses = PlantedBug(
    "disk-that-never-loses", rule: "the simulated disk", "a loss of power leaves everything",
    in: "Sources/DivanTesting/SimulatedPowerLoss.swift",
    find: "left.losePower(loss, &ruin)",
    plant: "left.losePower(PLANTED && loss != .processEnd ? .everything : loss, &ruin)",
    killedBy: .crash("a new store"))
}

/// Where bugs are planted.
enum Place {
  static let log = "Sources/DivanLog/Log/"
  static let format = "Sources/DivanLog/Format/"
  static let store = "Sources/Divan/Store/"
  static let index = "Sources/Divan/Index/"
  static let document = "Sources/Divan/Document/"
  static let viewing = "Sources/Divan/Views/"

  static let directory = log + "StoreDirectory.swift"
  static let writer = log + "LogWriter.swift"
  static let tail = log + "LogTail.swift"
  static let marks = log + "FlushMarks.swift"
  static let recovery = log + "LogRecovery.swift"
  static let reader = log + "LogReader.swift"
  static let merge = log + "SegmentMerge.swift"
  static let chain = log + "SegmentChain.swift"
  static let segment = log + "Segment.swift"
  static let scan = log + "RecordScan.swift"
  static let buffer = log + "TransactionBuffer.swift"
  static let checkpointFile = log + "CheckpointFile.swift"
  static let frame = format + "Frame.swift"
  static let preamble = format + "FilePreamble.swift"
  static let header = format + "SegmentHeader.swift"
  static let head = format + "Head.swift"
  static let record = format + "Record.swift"
  static let logOpening = store + "LogOpening.swift"
  static let storeOpening = store + "StoreOpening.swift"
  static let commits = store + "GroupCommit.swift"
  static let transaction = store + "WriteTransaction.swift"
  static let checkpoint = store + "Checkpoint.swift"
  static let checkpointing = store + "Store+Checkpoint.swift"
  static let merging = store + "Store+Merging.swift"
  static let revisionEdit = store + "RevisionEdit.swift"
  static let mergeJudge = store + "MergeJudge.swift"
  static let repair = store + "Store+Repair.swift"
  static let mainStore = store + "Store.swift"
  static let documentRecord = store + "DocumentRecord.swift"
  static let replay = store + "Replay.swift"
  static let pruning = store + "Store+Pruning.swift"
  static let stateRecords = store + "StoreState+Records.swift"
  static let attachments = store + "Store+Attachments.swift"
  static let rebuiltHistory = store + "Store+RebuiltHistory.swift"
  static let maintenance = store + "Maintenance.swift"
  static let attachmentNames = log + "AttachmentFiles+Names.swift"
  static let attachmentWriter = log + "AttachmentWriter.swift"
  static let foreignViews = store + "ForeignViews.swift"
  static let viewFrames = log + "ViewFile.swift"
  static let ownership = log + "StoreDirectory+Ownership.swift"
  static let deletion = store + "StoreDeletion.swift"
  static let backup = store + "Backup.swift"
  static let fileSystem = "Sources/DivanLog/File/POSIXFileSystem.swift"
  static let viewFile = viewing + "ViewFile.swift"
  static let viewIndex = viewing + "ViewIndex.swift"
  static let viewContents = viewing + "ViewContents.swift"
  static let treePruning = document + "RevisionTree+Pruning.swift"
  static let treeInsertion = document + "RevisionTree+Insertion.swift"
  static let view = store + "StoreView.swift"
  static let cursors = store + "Cursors.swift"
  static let gap = store + "LogGap.swift"
  static let batch = store + "DocumentBatch.swift"
  static let lostRecords = log + "LostRecords.swift"
  static let revisions = store + "WriteTransaction+Revisions.swift"
  static let indexMaking = store + "Indexes/Database+Indexes.swift"
  static let indexing = store + "Indexes/StoreState+Indexes.swift"
  static let indexedWriting = store + "Indexes/WriteTransaction+Indexes.swift"
  static let indexKeys = store + "Indexes/IndexKeyMaker.swift"
  static let indexBatch = store + "Indexes/IndexBatch.swift"
  static let indexSlice = store + "Indexes/IndexSlice.swift"
  static let indexWalking = store + "Indexes/IndexEntryCursor.swift"
  static let indexRepair = store + "Indexes/LeafRepair+Indexes.swift"
}
