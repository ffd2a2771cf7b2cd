import DivanLog
import Synchronization

/// Finds out under which key a property of a class of models is stored.
enum ModelKeys {
  /// The key under which the property at a key path is stored; nil for the model's ID.
  ///
  /// The key path is applied to a model that nobody sees, which notes what is read. To tell a computed property, which
  /// reads others, it must then give what is set in the one that was read.
  ///
  /// - Throws: `invalidQuery` if it is no ``Persisted`` property.
  static func key(of path: AnyKeyPath, in root: Model.Type) throws(DatabaseError) -> String? {
    let model = root.init()
    model.documentID = "the ID of a sample"
    model.stopObservation()
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) | PropertyFlags.recording, at: place)
    }
    let recorder = PropertyRecorder()
    PropertyRecorder.current.withValue(recorder) { _ = model[keyPath: path] }
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) & ~PropertyFlags.recording, at: place)
    }
    guard let index = recorder.index else {
      if model[keyPath: path] as? String == model.documentID { return nil }
      throw refusal(root, path)
    }
    let property = model.modelClass.properties[index]
    guard try isValue(of: property, at: path, in: model) else { throw refusal(root, path) }
    return property.key
  }

  /// Whether a key path gives what is set in a property.
  private static func isValue(
    of property: any ModelProperty, at path: AnyKeyPath, in model: Model
  ) throws(DatabaseError) -> Bool {
    if let probe = property.setProbe(in: model) {
      let found = model[keyPath: path]
      return (found as? Model ?? (found as? [Model])?.first) === probe
    }
    guard let type = type(of: path).valueType as? any Codable.Type,
      let sample = CodableKeys.sample(of: type), let stored = try? ValueCoding.encode(sample)
    else {
      // No other value than the declared one is known, which must do.
      return true
    }
    guard property.assign(stored: stored, to: model),
      let found = model[keyPath: path] as? any Encodable
    else { return false }
    return try Value(queryConstant: found) == sample
  }

  private static func refusal(_ type: Model.Type, _ path: AnyKeyPath) -> DatabaseError {
    DatabaseError(
      .invalidQuery,
      "a query asks for a property of \(type) that is not stored, of the type "
        + "\(Swift.type(of: path).valueType)",
      hint: "Only @Persisted properties can be asked for, by themselves")
  }
}

extension Model: QueryKeyed {
  static func queryKey(of path: AnyKeyPath) throws(DatabaseError) -> String? {
    try ModelKeys.key(of: path, in: self)
  }
}

/// Notes which property of a model is read.
final class PropertyRecorder: Sendable {
  static let current = TaskLocal<PropertyRecorder?>(wrappedValue: nil)
  private let noted = Mutex<Int?>(nil)

  /// The first property that was read.
  var index: Int? { noted.withLock { $0 } }

  func note(_ index: Int) { noted.withLock { $0 = $0 ?? index } }
}
