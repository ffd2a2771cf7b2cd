import DivanLog
import Synchronization

/// Finds out under which key a property of a class of models is stored.
enum ModelKeys {
  /// The key under which the property at a key path is stored; nil for the model's ID.
  ///
  /// The key path is applied to a model that nobody sees, which notes what is read. To tell a computed property, which
  /// reads others, only one may be read, of the same type, and what is read must be what that one has: another value
  /// than the declared one, and the declared one, while all others have other values, and while they have theirs.
  ///
  /// - Throws: `invalidQuery` if it is no ``Persisted`` property.
  static func key(of path: AnyKeyPath, in root: Model.Type) throws(DatabaseError) -> String? {
    let place = Place(root: ObjectIdentifier(root), path: path)
    if let found = known.withLock({ $0[place] }) { return try found.get() }
    let found: Result<String?, DatabaseError>
    do throws(DatabaseError) {
      found = .success(try search(for: path, in: root))
    } catch {
      found = .failure(error)
    }
    known.withLock { known in
      if known.count >= countLimit { known.removeAll() }
      known[place] = found
    }
    return try found.get()
  }

  /// A key path, and the class that it was asked of, which may be a subclass of the one that declares the property.
  ///
  /// `@unchecked Sendable`: key paths never change, and those of stored properties capture nothing.
  private struct Place: Hashable, @unchecked Sendable {
    let root: ObjectIdentifier
    let path: AnyKeyPath
  }

  /// What was found out, refusals among it, since that takes models and several readings of them.
  private static let known = Mutex<[Place: Result<String?, DatabaseError>]>([:])
  /// Far more than a program has properties: only paths with subscripts could come without end.
  private static let countLimit = 10_000

  private static func search(
    for path: AnyKeyPath, in root: Model.Type
  ) throws(DatabaseError) -> String? {
    let model = root.init()
    model.documentID = "the ID of a sample"
    model.stopObservation()
    let properties = model.modelClass.properties
    for property in properties { _ = alter(property, in: model) }
    let (found, read) = recording(path, in: model)
    if read.isEmpty, found as? String == model.documentID { return nil }
    guard read.count == 1, let index = read.first else { throw refusal(root, path) }
    let property = properties[index]
    guard property.valueType == type(of: path).valueType else { throw refusal(root, path) }
    for othersAreAltered in [true, false] {
      for other in properties where other.place.index != index {
        if othersAreAltered { _ = alter(other, in: model) } else { other.reset(in: model) }
      }
      property.reset(in: model)
      try require(property, at: path, in: model, isEqual: nil)
      // Of a type of which no other value is known, the declared one must do.
      if let sample = alter(property, in: model) {
        try require(property, at: path, in: model, isEqual: sample)
      }
    }
    return property.key
  }

  /// What a property was set to.
  private enum Sample {
    case model(Model)
    case value(Value)
  }

  /// Gives a property another value than the declared one; nil if none is known.
  private static func alter(_ property: any ModelProperty, in model: Model) -> Sample? {
    if let probe = property.setProbe(in: model) { return .model(probe) }
    guard let type = property.valueType as? any Codable.Type,
      let sample = CodableKeys.sample(of: type), let stored = try? ValueCoding.encode(sample),
      property.assign(stored: stored, to: model)
    else { return nil }
    return .value(sample)
  }

  /// What a key path gives, and the numbers of the properties that are read for it.
  private static func recording(
    _ path: AnyKeyPath, in model: Model
  ) -> (found: Any?, read: Set<Int>) {
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) | PropertyFlags.recording, at: place)
    }
    let recorder = PropertyRecorder()
    let found = PropertyRecorder.current.withValue(recorder) { model[keyPath: path] }
    for place in model.modelClass.places {
      model.setFlags(model.flags(at: place) & ~PropertyFlags.recording, at: place)
    }
    return (found, recorder.indexes)
  }

  /// Throws if a key path reads anything but a property, or gives anything but what that has: a sample, or the declared
  /// value if that is nil.
  private static func require(
    _ property: any ModelProperty, at path: AnyKeyPath, in model: Model, isEqual sample: Sample?
  ) throws(DatabaseError) {
    let (found, read) = recording(path, in: model)
    let models = (found as? Model).map { [$0] } ?? found as? [Model] ?? []
    let value = (found as? any Encodable).map { try? Value(queryConstant: $0) } ?? .null
    let isEqual: Bool
    switch sample {
    case .model(let probe): isEqual = models.count == 1 && models[0] === probe
    case .value(let sample): isEqual = value == sample
    case nil where property.target != nil: isEqual = models.isEmpty
    case nil:
      let declared = (try? model.value(for: property.key)) ?? nil
      isEqual = value == declared ?? .null
    }
    guard isEqual, read == [property.place.index] else {
      throw refusal(Swift.type(of: model), path)
    }
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

/// Notes which properties of a model are read.
final class PropertyRecorder: Sendable {
  static let current = TaskLocal<PropertyRecorder?>(wrappedValue: nil)
  private let noted = Mutex<Set<Int>>([])

  /// The numbers of the properties that were read.
  var indexes: Set<Int> { noted.withLock { $0 } }

  func note(_ index: Int) { noted.withLock { _ = $0.insert(index) } }
}
