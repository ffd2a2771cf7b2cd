import Dispatch
import DivanLog

/// placeholder
final class Maintenance: Sendable {
  static let queue = DispatchQueue(label: "divan.maintenance")
  init(_ checkpoint: Checkpoint?) {}
  func throttle(_ store: Store) {}
  func noteAppended(_ size: Int, _ store: Store) {}
  func runInline(_ store: Store) {}
  func start(_ store: Store) {}
  func finish(_ store: Store) throws {}
}
struct Checkpoint: Sendable {
  struct Position { var segmentNumber: UInt64; var fileID: UInt64; var end: LogEnd }
  var position: Position
  var lastSequence: UInt64
  var highestFileID: UInt64
  func rests(on number: UInt64) -> Bool { false }
  static func newestUsable(among: Set<FileName>, in: StoreDirectory, isMapped: Bool, notes: inout [String]) throws(LogError) -> (checkpoint: Checkpoint, chain: SegmentChain, state: StoreState)? { nil }
}
extension Store { func repairIndex(_ e: PageError, in state: StoreState) throws(DatabaseError) {} }
