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
  static func key<Root: Model, V>(
    of path: KeyPath<Root, V>
  ) throws(DatabaseError) -> String? {
    if path as AnyKeyPath == \Root.id as AnyKeyPath { return nil }
    let model = Root()
    model.stopObservation()
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) | PropertyFlags.recording, at: place)
    }
    let recorder = PropertyRecorder()
    PropertyRecorder.$current.withValue(recorder) { _ = model[keyPath: path] }
    guard let index = recorder.index else { throw refusal(Root.self, path) }
    let property = model.modelClass.properties[index]
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) & ~PropertyFlags.recording, at: place)
    }
    guard try isValue(of: property, at: path, in: model) else { throw refusal(Root.self, path) }
    return property.key
  }

  /// Whether a key path gives what is set in a property.
  private static func isValue<Root: Model, V>(
    of property: any ModelProperty, at path: KeyPath<Root, V>, in model: Root
  ) throws(DatabaseError) -> Bool {
    if let probe = property.setProbe(in: model) {
      let found = model[keyPath: path]
      return (found as? Model ?? (found as? [Model])?.first) === probe
    }
    guard let type = V.self as? any Codable.Type,
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

  private static func refusal<Root: Model, V>(
    _ type: Root.Type, _ path: KeyPath<Root, V>
  ) -> DatabaseError {
    DatabaseError(
      .invalidQuery,
      "a query asks for a property of \(type) that is not stored: a \(V.self) at \(path)",
      hint: "Only @Persisted properties can be asked for, by themselves")
  }
}

/// Notes which property of a model is read.
final class PropertyRecorder: Sendable {
  @TaskLocal static var current: PropertyRecorder?
  private let noted = Mutex<Int?>(nil)

  /// The first property that was read.
  var index: Int? { noted.withLock { $0 } }

  func note(_ index: Int) { noted.withLock { $0 = $0 ?? index } }
}
