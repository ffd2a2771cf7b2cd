import Divan
import Foundation

/// The JSON of the bodies of requests and responses.
enum BodyJSON {
  /// How deep arrays and objects may be nested: as those of a document, and a few levels around it.
  ///
  /// `{"results": [{"docs": [{"ok": {…}}]}]}` has five. What is stored has the limit of a document,
  /// which the store checks.
  private static let depthLimit = DocumentLimits.depth + 8

  /// Reads the JSON of a body.
  static func value(of data: Data) throws(DatabaseError) -> Value {
    try Value(json: data, depthLimit: depthLimit)
  }
}
