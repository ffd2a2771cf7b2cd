import DivanLog
import Synchronization

/// Finds the key under which a property of a model class is stored.
enum ModelKeys {
  /// Returns the key of the property at a key path; nil for the model's ID.
  ///
  /// The key path is applied to a scratch model that records which properties are read. To rule out
  /// computed properties, exactly one property of the same type must be read, and the result must
  /// equal its value. This is checked with a sample value and with the declared value, while all
  /// other properties have sample values and while they have their declared values.
  ///
  /// - Throws: `invalidQuery` if the key path is not a ``Persisted`` property.
  static func key(of path: AnyKeyPath, in root: Model.Type) throws(DatabaseError) -> String? {
    try property(at: path, in: root)?.key
  }

  /// A stored property of a model class.
  struct Property {
    let key: String
    /// The stored form of its declared value; nil if that is nil or a reference.
    let declared: Value?
  }

  /// Returns the property at a key path, as ``key(of:in:)`` does.
  static func property(at path: AnyKeyPath, in root: Model.Type) throws(DatabaseError) -> Property?
  {
    let cacheKey = CacheKey(root: ObjectIdentifier(root), path: path)
    if let found = cache.withLock({ $0[cacheKey] }) { return try found.get() }
    let found: Result<Property?, DatabaseError>
    do throws(DatabaseError) {
      found = .success(
        try search(for: path, in: root).map {
          Property(key: $0, declared: (try? root.init().value(for: $0)) ?? nil)
        })
    } catch {
      found = .failure(error)
    }
    cache.withLock { cache in
      if cache.count >= countLimit { cache.removeAll() }
      cache[cacheKey] = found
    }
    return try found.get()
  }

  /// A key path and the class it is applied to, which may be a subclass of the declaring one.
  ///
  /// `@unchecked Sendable`: key paths are immutable, and key paths of stored properties capture
  /// nothing.
  private struct CacheKey: Hashable, @unchecked Sendable {
    let root: ObjectIdentifier
    let path: AnyKeyPath
  }

  /// Cached results, including errors, since a search creates models and reads them several times.
  private static let cache = Mutex<[CacheKey: Result<Property?, DatabaseError>]>([:])
  /// Far more than a program has properties; only key paths with subscripts are unlimited.
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
      for other in properties where other.location.index != index {
        if othersAreAltered { _ = alter(other, in: model) } else { other.reset(in: model) }
      }
      property.reset(in: model)
      try require(property, at: path, in: model, isEqual: nil)
      // If no other value of the type is known, the declared one suffices.
      if let sample = alter(property, in: model) {
        try require(property, at: path, in: model, isEqual: sample)
      }
    }
    return property.key
  }

  /// A value that a property was set to.
  private enum Sample {
    case model(Model)
    case value(Value)
  }

  /// Sets a property to a value other than the declared one; returns nil if none is known.
  private static func alter(_ property: any ModelProperty, in model: Model) -> Sample? {
    if let probe = property.setProbe(in: model) { return .model(probe) }
    guard let type = property.valueType as? any Codable.Type,
      let sample = CodableKeys.sample(of: type), let stored = try? ValueEncoder.encode(sample),
      property.assign(stored: stored, to: model)
    else { return nil }
    return .value(sample)
  }

  /// Returns the value at a key path, and the numbers of the properties that were read for it.
  private static func recording(
    _ path: AnyKeyPath, in model: Model
  ) -> (found: Any?, read: Set<Int>) {
    for location in model.modelClass.locations {
      model.setFlags(model.flags(at: location) | PropertyFlags.recording, at: location)
    }
    let recorder = PropertyRecorder()
    let found = PropertyRecorder.current.withValue(recorder) { model[keyPath: path] }
    for location in model.modelClass.locations {
      model.setFlags(model.flags(at: location) & ~PropertyFlags.recording, at: location)
    }
    return (found, recorder.indexes)
  }

  /// Throws unless a key path reads exactly one property, and its result equals the sample.
  ///
  /// Without a sample, the result must equal the declared value.
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
    guard isEqual, read == [property.location.index] else {
      throw refusal(Swift.type(of: model), path)
    }
  }

  private static func refusal(_ type: Model.Type, _ path: AnyKeyPath) -> DatabaseError {
    DatabaseError(
      .invalidQuery,
      "a query uses a property of \(type) that is not stored, of the type "
        + "\(Swift.type(of: path).valueType)",
      hint: "Use only @Persisted properties, each by itself")
  }
}

/// Records which properties of a model are read.
final class PropertyRecorder: Sendable {
  static let current = TaskLocal<PropertyRecorder?>(wrappedValue: nil)
  private let noted = Mutex<Set<Int>>([])

  /// The numbers of the properties that were read.
  var indexes: Set<Int> { noted.withLock { $0 } }

  func note(_ index: Int) { noted.withLock { _ = $0.insert(index) } }
}
