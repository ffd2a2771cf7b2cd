import Divan
import DivanLog

/// A change of one property between two objects.
///
/// Nested objects are compared by their keys, everything else as a whole.
struct PropertyChange {
  /// The keys that lead to the property.
  let path: [String]
  /// The old value; nil if the property did not exist.
  let old: Value?
  /// The new value; nil if the property no longer exists.
  let new: Value?
}

extension PropertyChange {
  /// Returns all changes, in the order of the keys of the old object, then of the new.
  static func between(_ old: Value.Object, _ new: Value.Object) -> [PropertyChange] {
    // Nesting is limited where documents are read.
    between(old, new, [])
  }

  private static func between(
    _ old: Value.Object, _ new: Value.Object, _ path: [String]
  ) -> [PropertyChange] {
    var changes: [PropertyChange] = []
    for (key, before) in old {
      let after = new[key]
      if let a = before.objectValue, let b = after?.objectValue {
        changes += between(a, b, path + [key])
      } else if after != before {
        changes.append(PropertyChange(path: path + [key], old: before, new: after))
      }
    }
    for (key, after) in new where old[key] == nil {
      changes.append(PropertyChange(path: path + [key], old: nil, new: after))
    }
    return changes
  }

  var node: JSONNode {
    var fields: [(String, JSONNode)] = [("path", .list(path.map { .text($0) }))]
    if let old { fields.append(("old", .raw(old.json))) }
    if let new { fields.append(("new", .raw(new.json))) }
    return .fields(fields)
  }

  /// A line for people.
  var text: String {
    let name = printable(path.joined(separator: "."))
    return switch (old, new) {
    case (nil, let new?): "+ \(name): \(printable(new.json))"
    case (let old?, nil): "- \(name): \(printable(old.json))"
    case (let old?, let new?): "~ \(name): \(printable(old.json)) → \(printable(new.json))"
    case (nil, nil): "  \(name)"
    }
  }
}
