import DivanLog

/// How far a database that is open for reading only has followed the log.
struct FollowedLog: Sendable {
  /// What `HEAD` said when the log was read last; it is replaced whenever a segment is added.
  var head: Head?
  /// The bytes of log that were read since the index was taken from a checkpoint.
  var size = 0
}
