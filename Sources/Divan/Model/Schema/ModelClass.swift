import DivanLog
import Synchronization

/// The description of a model class, which is built once per class.
///
/// Invariants: `properties` are in the order of their declaration, from the top superclass down,
/// and the number of each is its index. `encodingOrder` has their numbers in the order of their
/// keys.
final class ModelClass: Sendable {
  let type: Model.Type
  let properties: [any ModelProperty]
  /// The locations of the properties, for iterating over them without reference counting.
  let locations: [PropertyLocation]
  let encodingOrder: [Int]
  /// Whether any property refers to models.
  let hasReferences: Bool
  /// The ``Inverse`` properties.
  let inverses: [InverseRelation]
  let documentType: String?
  /// The types of documents of the class: ``Model/documentType`` and earlier ones; empty without
  /// it.
  let documentTypes: [String]
  let documentTypeKey: String
  /// The version that the class declares, and the key under which documents store it.
  let version: Int
  let versionKey: String
  /// The observation path of each property; empty if models of the class cannot be observed.
  let observationPaths: [ModelObservation.Path]
  private let prototype = Mutex<ModelPrototype?>(nil)
  /// The declared indexes of the class, once they were needed.
  private let knownIndexes = Mutex<ModelIndexes?>(nil)

  private init(
    _ type: Model.Type, _ properties: [any ModelProperty], _ inverses: [InverseRelation] = []
  ) {
    self.type = type
    self.properties = properties
    self.inverses = inverses
    locations = properties.map(\.location)
    hasReferences = properties.contains { $0.target != nil }
    encodingOrder = properties.indices.sorted {
      compareUTF8(properties[$0].key, properties[$1].key) < 0
    }
    documentType = type.documentType
    documentTypes = type.allDocumentTypes
    documentTypeKey = type.documentTypeKey
    version = type.modelVersion
    versionKey = type.modelVersionKey
    observationPaths =
      type.isObservable
      ? properties.indices.map { ModelObservation.path(ofProperty: $0) } : []
    for (a, b) in zip(encodingOrder, encodingOrder.dropFirst()) {
      require(
        !haveSameUTF8(properties[a].key, properties[b].key),
        "\(type) has two @Persisted properties that are stored under \"\(properties[a].key)\"")
    }
    for property in properties {
      require(
        property.key.utf8.first != UInt8(ascii: "_") && !property.key.isEmpty,
        "\(type).\(property.name) cannot be stored under \"\(property.key)\": names must not be empty or begin with an underscore. Give it another key with @Persisted(key:)"
      )
      require(
        version <= 1 || property.key != versionKey,
        "\(type) declares a version, so \(property.name) cannot be stored under \"\(versionKey)\""
      )
      require(
        documentType == nil || property.key != documentTypeKey,
        "\(type) has a document type, so \(property.name) cannot be stored under \"\(documentTypeKey)\". Give it another key with @Persisted(key:), or override documentTypeKey"
      )
    }
  }
}

extension ModelClass {
  /// The placeholder for the class of a model that is being initialized.
  static let none = ModelClass(Model.self, [])

  /// Returns the description of a class.
  static func of(_ type: Model.Type) -> ModelClass {
    if let known = ModelClassTable.find(type) { return known }
    // Initializing a model registers its class.
    return type.init().modelClass
  }

  /// Whether models of the class can be observed.
  var isObservable: Bool { !observationPaths.isEmpty }

  /// Whether the class stores a value of its own under a key without declaring a property.
  func hasOwn(_ key: String) -> Bool {
    documentType != nil && haveSameUTF8(key, documentTypeKey)
      || version > 1 && haveSameUTF8(key, versionKey)
  }

  /// The declared property that is stored under a key.
  func property(for key: String) -> (any ModelProperty)? {
    properties.first { haveSameUTF8($0.key, key) }
  }

  /// The model that has the declared values of the properties.
  var defaults: Model {
    if let made = prototype.withLock({ $0 }) { return made.model }
    // Not under the lock, because it runs the client's initializer.
    let made = ModelPrototype(model: type.init())
    return prototype.withLock { known in
      if let known { return known.model }
      known = made
      return made.model
    }
  }

  /// The indexes that the class declares.
  var indexes: ModelIndexes {
    if let known = knownIndexes.withLock({ $0 }) { return known }
    // Not under the lock, because it runs the client's code.
    let made = ModelIndexes(of: self)
    knownIndexes.withLock { $0 = made }
    return made
  }

  /// Discovers the properties of a class by inspecting a model that is being initialized.
  static func discover(_ type: Model.Type, from model: Model) -> ModelClass {
    let fields = PersistedField.all(of: type)
    require(
      fields.persisted.count < PropertyKeys.propertyLimit, "\(type) has too many properties")
    var properties: [any ModelProperty] = []
    for (index, field) in fields.persisted.enumerated() {
      var location = field.type.location(at: field.offset)
      location.index = index
      if type.isObservable { location.initialFlags |= PropertyFlags.observed }
      location.name = field.name
      location.key = field.name
      let flags = model.flags(at: location)
      location.deleteRule = DeleteRule(flags: flags)
      if flags & (PropertyFlags.keyed | PropertyFlags.indexed) != 0 {
        location.declaration = model.index(at: location)
        guard let declaration = PropertyKeys.declaration(location.declaration) else {
          // Only wrappers that are initialized during discovery record their declarations.
          PropertyKeys.whileDiscovering { _ = type.init() }
          guard let info = ModelClassTable.find(type) else {
            refuseUse("\(type).init() did not create a \(type)")
          }
          return info
        }
        location.key = declaration.key ?? field.name
      }
      properties.append(field.type.makeProperty(location))
    }
    let inverses = fields.inverse.map { $0.type.relation($0.name, in: model, at: $0.offset) }
    return ModelClassTable.insert(ModelClass(type, properties, inverses), for: type)
  }
}
