import DivanLog

/// A version of the store: its last change and commit, and its document count.
struct CommitPoint: Sendable, Equatable {
  /// The last sequence number in it.
  var sequence: UInt64
  /// The last commit in it.
  var commit: UInt64
  /// The time of that commit, in milliseconds since 1970.
  var time: UInt64
  var documentCount: UInt64

  func encode(to writer: inout ByteWriter) {
    writer.appendVarint(sequence)
    writer.appendVarint(commit)
    writer.appendVarint(time)
    writer.appendVarint(documentCount)
  }

  static func decode(_ reader: inout ByteReader) throws(ByteError) -> CommitPoint {
    CommitPoint(
      sequence: try reader.readSequence(), commit: try reader.readSequence(),
      time: try reader.readSequence(), documentCount: try reader.readSequence())
  }
}

/// The end of the commit that contains it.
///
/// It is written while history is kept, so that the version can be found again by its sequence
/// number or its time.
struct CommitPointRecord: Sendable, Equatable {
  var commitPoint: CommitPoint
  /// The last sequence number in the version before this one.
  ///
  /// Nothing changed between it and this commit. If no commit point has that number, the versions
  /// before it are not known.
  var previous: UInt64

  func encode(to writer: inout ByteWriter) {
    commitPoint.encode(to: &writer)
    writer.appendVarint(previous)
  }

  static func decode(_ payload: SharedBytes) throws(ByteError) -> CommitPointRecord {
    var reader = ByteReader(payload)
    let commitPoint = try CommitPoint.decode(&reader)
    let record = CommitPointRecord(commitPoint: commitPoint, previous: try reader.readSequence())
    guard record.previous < commitPoint.sequence else {
      throw ByteError(
        offset: reader.offset, reason: "a commit point that is not after the previous one")
    }
    return try reader.finishing(record)
  }
}
