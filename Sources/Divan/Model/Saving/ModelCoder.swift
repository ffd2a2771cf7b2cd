import DivanLog

/// Encodes models as documents.
struct ModelCoder: ~Copyable {
  private var encoder = ValueEncoder()
  private var writer = ByteWriter(capacity: 1024)

  /// Returns the document to put for a model, of which `read` returns the current version.
  mutating func document(
    for model: Model, read: (String) throws -> Document?
  ) throws -> (Document, SavedModel) {
    guard let base = model.storedProperties, model.state == .stored else {
      let encoded = try properties(of: model)
      let document = Document(
        id: model.id, revision: nil, encoded, attachments: try model.merge(into: [:]))
      return (document, SavedModel(model, as: document, encoded, isMerged: false))
    }
    guard let current = try read(model.id) else {
      throw DatabaseError(
        .conflict, "the document was deleted since the model was read", documentID: model.id)
    }
    let currentProperties = try current.encoded()
    let isMerged =
      currentProperties.bytes != base.bytes || model.pendingChanges?.bases.isEmpty == false
    if isMerged, model.core?.hasOtherClass(currentProperties, than: model) == true {
      throw DatabaseError(
        .conflict,
        "the document is no longer of the class \(type(of: model)), as which the model was read",
        hint: "Refresh the context, and get the document's new model from it", documentID: model.id)
    }
    var encoded = try merge(model, over: currentProperties, type: nil)
    var keys: [String] = []
    var mine: EncodedValue?
    if isMerged {
      let resolved = try ModelCoder.resolveConflicts(
        of: model, base: base, current: currentProperties, result: encoded)
      if !resolved.isEmpty {
        mine = encoded
        encoded = try merge(resolved, into: encoded)
      }
      keys = Array(resolved.keys)
    }
    let document = Document(
      id: model.id, revision: current.revision, encoded,
      attachments: try model.merge(into: current.attachments))
    return (
      document,
      SavedModel(model, as: document, encoded, isMerged: isMerged, resolved: keys, mine: mine)
    )
  }

  /// Returns the properties that saving stores if there were no external changes.
  static func properties(of model: Model) throws(DatabaseError) -> EncodedValue {
    var coder = ModelCoder()
    return try coder.properties(of: model)
  }

  private mutating func properties(of model: Model) throws(DatabaseError) -> EncodedValue {
    if let base = model.storedProperties {
      let type = model.state == .new ? model.modelClass.documentType : nil
      return try merge(model, over: base, type: type)
    }
    let encoded = try encodeNew(model)
    guard let undeclared = model.pendingChanges?.undeclared, !undeclared.isEmpty else {
      return encoded
    }
    return try merge(undeclared, into: encoded)
  }

  /// Encodes the properties of a new model directly.
  private mutating func encodeNew(_ model: Model) throws(DatabaseError) -> EncodedValue {
    writer.removeAll()
    let info = model.modelClass
    var type = info.documentType
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      encoder.beginObject()
      for index in info.encodingOrder {
        let property = info.properties[index]
        guard !property.isAbsent(in: model) else { continue }
        property.keyBytes.withSpan { encoder.addKey($0, source: 0) }
        try ModelCoder.encode(property, of: model, into: &encoder)
      }
      if let type = type.take() {
        withUTF8(of: info.documentTypeKey) { encoder.addKey($0, source: 0) }
        withUTF8(of: type) { encoder.add(text: $0) }
      }
      if info.version > 1 {
        withUTF8(of: info.versionKey) { encoder.addKey($0, source: 0) }
        _ = info.version.encode(into: &encoder)
      }
      _ = encoder.endObject()
    }
    return EncodedValue(writer.sharedCopy)
  }

  /// Returns a document's properties, overwritten with the changed properties of a model.
  private mutating func merge(
    _ model: Model, over document: EncodedValue, type: String?
  ) throws(DatabaseError) -> EncodedValue {
    let isTyped =
      type == nil ? true : try document.property(model.modelClass.documentTypeKey) != nil
    if !model.isChanged, isTyped { return document }
    var document = document
    if let undeclared = model.pendingChanges?.undeclared, !undeclared.isEmpty {
      document = try merge(undeclared, into: document)
    }
    let info = model.modelClass
    var changes: [PropertyChange] = []
    for index in info.encodingOrder {
      let property = info.properties[index]
      guard property.isDirty(in: model) else { continue }
      changes.append(
        PropertyChange(
          key: property.keyBytes,
          value: try ModelCoder.storedValue(of: property, in: model, over: document, &encoder)))
    }
    if let version = try newVersion(of: model, over: document) {
      try set(info.versionKey, to: version, in: &changes)
    }
    if !isTyped, let type { try set(info.documentTypeKey, to: .string(type), in: &changes) }
    guard !changes.isEmpty else { return document }
    writer.removeAll()
    try encoder.encode(document, replacing: changes, into: &writer)
    return EncodedValue(writer.sharedCopy)
  }

  /// Returns the class's version, if a document is to get it.
  ///
  /// Only a new or upgraded document gets it. Otherwise the document keeps the version of the
  /// program that stored it.
  private func newVersion(
    of model: Model, over document: EncodedValue
  ) throws(DatabaseError) -> Value? {
    let version = model.modelClass.version
    guard version > 1, model.state == .new || model.upgradedFrom != nil else { return nil }
    let stored = try document.property(model.modelClass.versionKey)?.decode().intValue ?? 1
    guard stored < version, model.state == .new || model.upgradedFrom == stored else { return nil }
    return .int(Int64(version))
  }

  /// Inserts a change in the order of keys; it replaces one of the same key.
  private mutating func set(
    _ key: String, to value: Value, in changes: inout [PropertyChange]
  ) throws(DatabaseError) {
    let key = SharedBytes(utf8: key)
    let change = PropertyChange(key: key, value: try encoder.nestedForm(of: value))
    changes.removeAll { $0.key == key }
    let next = changes.firstIndex { compare(key, $0.key) < 0 } ?? changes.count
    changes.insert(change, at: next)
  }

  /// Returns a document's properties with some overwritten.
  ///
  /// The values come from the caller, so names and depths are checked by encoding all of them.
  private mutating func merge(
    _ changed: ByteKeyed<Value?>, into document: EncodedValue
  ) throws(DatabaseError) -> EncodedValue {
    guard case .object(var object) = try document.decode() else {
      throw DatabaseError(.damaged, "the document's properties are not an object")
    }
    for (key, value) in changed.entries { object[key] = value }
    writer.removeAll()
    try encoder.encode(.object(object), into: &writer)
    return EncodedValue(writer.sharedCopy)
  }

  /// Returns the value to store for a property; nil if there is none.
  ///
  /// Properties of the document's value that the type does not know are kept.
  static func value(
    of property: any ModelProperty, in model: Model, over document: EncodedValue? = nil
  ) throws(DatabaseError) -> Value? {
    var encoder = ValueEncoder()
    let bytes = try storedValue(of: property, in: model, over: document, &encoder)
    return try bytes.map { (bytes) throws(DatabaseError) in try EncodedValue(bytes).decode() }
  }

  /// Returns the same value in its stored form.
  private static func storedValue(
    of property: any ModelProperty, in model: Model, over document: EncodedValue?,
    _ encoder: inout ValueEncoder
  ) throws(DatabaseError) -> SharedBytes? {
    guard !property.isAbsent(in: model) else { return nil }
    encoder.begin(isNested: true)
    try encode(property, of: model, into: &encoder)
    let new = encoder.bytes
    guard property.keepsUnknownKeys, let document else { return new }
    let range = try property.keyBytes.withSpan { (key) throws(DatabaseError) in
      try document.propertyRange(key)
    }
    guard let range else { return new }
    let value = try EncodedValue(new).decode()
    return try encoder.nestedForm(
      of: property.adding(unknownIn: document.bytes, range, to: value))
  }

  private static func encode(
    _ property: any ModelProperty, of model: Model, into encoder: inout ValueEncoder
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      try property.encode(model, into: &encoder)
    } catch {
      let path = error.propertyPath.map { $0.hasPrefix("[") ? $0 : ".\($0)" } ?? ""
      throw DatabaseError(
        error.code, "\(type(of: model)).\(property.name) cannot be stored: \(error.message)",
        hint: error.hint, documentID: model.documentID, underlying: error.underlying,
        propertyPath: property.key + path)
    }
  }
}
