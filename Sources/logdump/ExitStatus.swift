import Divan
import DivanLog

/// The exit status of `logdump`, which describes the store.
package enum ExitStatus: Int32, Sendable {
  case sound = 0
  case usage = 1
  /// The last transaction was not finished when its writer ended; nothing that counts is lost.
  case tornTail = 2
  case damage = 3
  /// The system refused or failed, or there is no store.
  case unreadable = 4
  case newerFormat = 5
}

extension ExitStatus {
  /// Creates the status for an error.
  init(_ error: any Error) {
    switch error {
    case LogError.damaged: self = .damage
    case LogError.newerFormat: self = .newerFormat
    case LogError.system, LogError.foreign, LogError.sourceChanged, LogError.missingKey:
      self = .unreadable
    case let error as DatabaseError:
      switch error.code {
      case .damaged: self = .damage
      case .newerFormat: self = .newerFormat
      default: self = .unreadable
      }
    case is UsageError: self = .usage
    default: self = .unreadable
    }
  }

  /// Explains an error in one sentence that is safe to print on a terminal.
  static func explain(_ error: any Error) -> String { printable(text(of: error)) }

  private static func text(of error: any Error) -> String {
    switch error {
    case LogError.system(let error):
      "the system refused `\(error.call)` on \(error.path): \(error.code)"
    case LogError.damaged(let damage): "damage: \(damage)"
    case LogError.newerFormat(let path, let version):
      "\(path) was written by a newer version of Divan (format \(version))"
    case LogError.missingKey(let path, _): "\(path) is encrypted, and logdump has no key"
    case LogError.foreign(let path, let reason), LogError.sourceChanged(let path, let reason):
      "\(path): \(reason)"
    case let error as UsageError: error.reason
    default: "\(error)"
    }
  }
}

/// Arguments that are not a command.
struct UsageError: Error {
  let reason: String
}
