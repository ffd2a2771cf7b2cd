import DivanLog

extension Model: CustomDebugStringConvertible {
  /// The class, the document's ID, and the unsaved changes: `Film(metropolis, changed: title)`.
  ///
  /// It reads no property, and does not generate the ID of a model that has none yet.
  public final var debugDescription: String {
    var parts = [documentID.isEmpty ? "no ID yet" : printable(documentID)]
    switch state {
    case .new: parts.append("new")
    case .stored: break
    case .deleted: parts.append("deleted")
    }
    if !changedNames.isEmpty { parts.append("changed: " + changedNames.joined(separator: ", ")) }
    return "\(Swift.type(of: self))(\(parts.joined(separator: ", ")))"
  }
}
