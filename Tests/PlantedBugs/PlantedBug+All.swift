extension PlantedBug {
  /// All planted bugs, in the order in which their places are searched.
  static let all: [PlantedBug] =
    flushing + ordering + sequences + merging + segments + opening + reading + checkpoints
    + committing + bytes + indexes + revisions + secondaryIndexes + views + ownership
    + damage + invariants + sharing

  /// A simulated disk that never loses anything, which makes the proofs worthless.
  static let diskThatNeverLoses = PlantedBug(
    "disk-that-never-loses", rule: "the simulated disk", "a loss of power leaves everything",
    in: "SimulatedPowerLoss.swift",
    find: "left.losePower(loss, &ruin)",
    plant: "left.losePower(PLANTED && loss != .processEnd ? .everything : loss, &ruin)",
    killedBy: .crash("a new store"))
}

/// The files in which bugs are planted.
enum Place {
  static let directory = "StoreDirectory.swift"
  static let writer = "LogWriter.swift"
  static let tail = "LogTail.swift"
  static let marks = "FlushMarks.swift"
  static let recovery = "LogRecovery.swift"
  static let reader = "FrameReader.swift"
  static let transactions = "TransactionReader.swift"
  static let merge = "SegmentCompaction.swift"
  static let chain = "SegmentChain.swift"
  static let scan = "RecordScan.swift"
  static let buffer = "TransactionBuffer.swift"
  static let checkpointFile = "CheckpointFile.swift"
  static let frame = "FrameHeader.swift"
  static let preamble = "FilePreamble.swift"
  static let header = "SegmentHeader.swift"
  static let head = "Head.swift"
  static let record = "Record.swift"
  static let logOpening = "LogOpening.swift"
  static let storeOpening = "StoreOpening.swift"
  static let lostSegments = "StoreDirectory+LostSegments.swift"
  static let commits = "GroupCommit.swift"
  static let transaction = "WriteTransaction.swift"
  static let checkpoint = "Checkpoint.swift"
  static let checkpointing = "Store+Checkpoint.swift"
  static let merging = "Store+Compaction.swift"
  static let revisionEdit = "WriteTransaction+RevisionEdits.swift"
  static let compactionFilter = "CompactionFilter.swift"
  static let compactionPolicy = "CompactionPolicy.swift"
  static let repair = "Store+Repair.swift"
  static let mainStore = "Store.swift"
  static let documentRecord = "DocumentRecord.swift"
  static let replay = "Replay.swift"
  static let pruning = "Store+Pruning.swift"
  static let stateRecords = "Version+Records.swift"
  static let attachments = "Store+AttachmentCollection.swift"
  static let rebuiltHistory = "Store+RebuiltHistory.swift"
  static let maintenance = "Maintenance.swift"
  static let attachmentNames = "AttachmentFiles+Names.swift"
  static let attachmentWriter = "AttachmentWriter.swift"
  static let foreignViews = "DerivedViewFiles.swift"
  static let viewFrames = "ViewFileReader.swift"
  static let ownership = "StoreDirectory+Ownership.swift"
  static let deletion = "StoreDeletion.swift"
  static let backup = "Backup.swift"
  static let fileSystem = "POSIXFileSystem.swift"
  static let viewFile = "Views/ViewFile.swift"
  static let viewIndex = "ViewIndex.swift"
  static let viewContents = "ViewContents.swift"
  static let treeSetting = "BTree+Insertion.swift"
  static let treeRemoval = "BTree+Removal.swift"
  static let commitTrailer = "CommitTrailer.swift"
  static let treeSlot = "TreeSlot.swift"
  static let logRecord = "LogRecord.swift"
  static let segmentTable = "SegmentTable.swift"
  static let treePruning = "RevisionTree+Pruning.swift"
  static let treeInsertion = "RevisionTree+Insertion.swift"
  static let view = "ReadView.swift"
  static let cursors = "ReadView+Scanning.swift"
  static let gapReading = "ReadView+LogGap.swift"
  static let backingUp = "Database+Backup.swift"
  static let batch = "ReadView+Prefetching.swift"
  static let lostRecords = "LostRecords.swift"
  static let revisions = "WriteTransaction+Revisions.swift"
  static let indexMaking = "WriteTransaction+IndexDefinitions.swift"
  static let indexing = "Version+Indexes.swift"
  static let indexedWriting = "WriteTransaction+Indexes.swift"
  static let indexKeys = "IndexKeyMaker.swift"
  static let indexBatch = "IndexBuildBatch.swift"
  static let indexSlice = "IndexBuildSlice.swift"
  static let indexWalking = "IndexEntryCursor.swift"
  static let indexRepair = "LeafRepair+Indexes.swift"
  static let suspension = "Store+Suspension.swift"
  static let refreshing = "Store+Refresh.swift"
  static let followedChain = "SegmentChain+Following.swift"
  static let version = "Version.swift"
  static let attachmentStoring = "WriteTransaction+Attachments.swift"
}
