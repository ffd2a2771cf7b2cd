import Divan
import DivanLog

/// The ID under which both peers keep the log of a replication in one direction.
///
/// It is the SHA-256 of the names of the peers and of what is copied, so each run computes it
/// again.
enum ReplicationID {
  static func make(
    source: String, target: String, filter: ReplicationFilter, copiesDesignDocuments: Bool
  ) -> String {
    var parts: [Value] = ["divan-1", .string(source), .string(target), filter.identity]
    if copiesDesignDocuments { parts.append("_design") }
    return "divan-" + SHA256.digest(of: SharedBytes(utf8: Value.array(parts).json)).description
  }
}
