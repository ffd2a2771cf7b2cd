import Divan
import DivanLog
package import DivanTesting

/// The way in which one call of the disk fails.
package enum FaultKind: Hashable, Sendable {
  /// An error, with nothing done, or a part of a write.
  case error(SimulatedDisk.Failure)
  /// A write that writes nothing and fails.
  case nothingWritten
  /// An error, although the call did everything.
  case everythingDone(SimulatedDisk.Failure)
  /// A flush that fails in one of the ways known of real systems.
  case flush(SimulatedDisk.FailedFlush)

  /// The kinds that are tried at every place.
  package static let everywhere: [FaultKind] =
    SimulatedDisk.Failure.allCases.map { .error($0) }
    + [.nothingWritten, .everythingDone(.inputOutput), .everythingDone(.noSpace)]

  /// The additional kinds that are tried at flushes of files.
  package static let ofFlushes: [FaultKind] = [
    .flush(.keepsNewBytes), .flush(.revertsToOldBytes(afterCalls: 0)),
    .flush(.revertsToOldBytes(afterCalls: 9)), .flush(.staysDirty), .flush(.takesEffect),
  ]

  /// Returns the kinds that make sense for calls of a verb.
  package static func all(for verb: SimulatedDisk.Verb) -> [FaultKind] {
    verb == .flush ? everywhere + ofFlushes : everywhere
  }
}

extension FaultKind {
  private var failure: SimulatedDisk.Failure {
    switch self {
    case .error(let failure), .everythingDone(let failure): failure
    case .nothingWritten, .flush: .inputOutput
    }
  }

  /// Whether the bytes of a flush may read differently afterwards, without a loss of power.
  var forgetsBytes: Bool {
    if case .flush(.revertsToOldBytes) = self { true } else { false }
  }

  /// Arms the disk: the `call`-th call from now of any kind fails.
  func arm(_ disk: SimulatedFileSystem, atCall call: Int, flushCall: Int?, isLasting: Bool) {
    switch self {
    case .error(let failure):
      disk.fail(atCall: call, with: failure.code, isLasting: isLasting)
    case .nothingWritten:
      disk.fail(atCall: call, with: .inputOutput, completion: .nothing, isLasting: isLasting)
    case .everythingDone(let failure):
      disk.fail(atCall: call, with: failure.code, completion: .everything, isLasting: isLasting)
    case .flush(let behavior):
      disk.failFlush(atCall: flushCall ?? 1, behavior, isLasting: isLasting)
    }
  }

  /// Whether an error may be reported for this fault: the fault itself, or its effect on a commit.
  func explains(_ code: DatabaseError.Code) -> Bool {
    let own: Set<DatabaseError.Code> =
      switch failure {
      case .inputOutput, .interrupted, .outOfMemory: [.inputOutput]
      // A store on a full disk can be read.
      case .noSpace, .quotaExceeded: [.diskFull, .readOnly]
      case .noAccess, .notPermitted: [.accessDenied]
      case .tooManyOpenFiles, .tooManyOpenFilesInSystem: [.resourceExhausted]
      case .readOnly: [.readOnly]
      case .notFound, .staleHandle: [.notFound, .inputOutput]
      }
    if own.contains(code) || [.outcomeUnknown, .writerStopped].contains(code) { return true }
    return forgetsBytes && code == .damaged
  }

  /// Whether an error may be reported; an attachment whose file is not found counts as missing.
  func explains(_ error: DatabaseError) -> Bool {
    let isMissing = error.code == .damaged && error.path?.contains("/attachments/") == true
    return explains(error.code) || (isMissing && failure == .notFound)
  }
}

extension FaultKind: CustomStringConvertible {
  package var description: String {
    switch self {
    case .error(let failure): "\(failure)"
    case .nothingWritten: "nothing written"
    case .everythingDone(let failure): "\(failure) though done"
    case .flush(let behavior): "flush \(behavior)"
    }
  }
}
