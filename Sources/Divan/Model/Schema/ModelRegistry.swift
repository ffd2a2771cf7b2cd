import DivanLog

/// The classes of documents, by their `type`.
///
/// ```swift
/// let registry = try ModelRegistry(Film.self, Series.self)   // both are subclasses of Show
/// let context = database.makeContext(registry)
/// let show = try context.model(Show.self, id: id)                // a Film, or a Series
/// ```
///
/// A database with a ``Schema`` has one. Without a registry, a document becomes a model of the
/// class that you request.
public struct ModelRegistry: Sendable {
  private var classes: ByteKeyed<Model.Type> = [:]
  /// The keys of document types, without duplicates, in the order of registration.
  private var typeKeys: [String] = []
  private let chooser: (@Sendable (_ type: String) -> Model.Type?)?

  /// Creates a registry of classes, each of which has a ``Model/documentType``.
  ///
  /// - Parameters:
  ///   - classes: the classes.
  ///   - chooser: returns the class for a `type` that none of the classes declares; nil for one
  ///     that it does not know either.
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if a class has no type, or two have the
  ///   same one.
  public init(
    _ classes: Model.Type..., chooser: (@Sendable (_ type: String) -> Model.Type?)? = nil
  ) throws {
    self.chooser = chooser
    if chooser != nil { typeKeys.append(Model.documentTypeKey) }
    for each in classes { try register(each) }
  }

  private init() { chooser = nil }

  /// A registry without classes.
  static let empty = ModelRegistry()

  /// Registers a class, for contexts that are created from now on.
  ///
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if the class has no type, or another class
  ///   already has the same one.
  public mutating func register(_ type: Model.Type) throws(DatabaseError) {
    let names = type.allDocumentTypes
    guard !names.isEmpty else {
      throw DatabaseError(
        .invalidModelClass, "\(type) has no document type",
        hint: "Do not override `class var documentType` with nil")
    }
    for name in names {
      if let other = classes[name], other != type {
        throw DatabaseError(
          .invalidModelClass,
          "\(other) and \(type) both have the document type \(name.debugDescription)",
          hint: "Override `class var documentType` of one of them")
      }
    }
    for name in names { classes[name] = type }
    let key = type.documentTypeKey
    if !typeKeys.contains(where: { haveSameUTF8($0, key) }) { typeKeys.append(key) }
  }

  /// The registered classes; one with earlier types occurs several times.
  var types: [Model.Type] { classes.entries.map(\.value) }

  /// Returns the class of documents with a type; nil if it is unknown.
  public subscript(type: String) -> Model.Type? { classes[type] ?? chooser?(type) }

  /// A filter for the documents of a class and its subclasses, by the registered classes.
  ///
  /// Nil if only code can decide that.
  func subclassNames<M: Model>(of type: M.Type) -> FilterExpression? {
    let (own, key) = (type.allDocumentTypes, type.documentTypeKey)
    // Any document may be of a class without a type.
    guard chooser == nil, !own.isEmpty, typeKeys.allSatisfy({ haveSameUTF8($0, key) }) else {
      return nil
    }
    // If the class is not registered, its own types count, too, unless they are another class's.
    let names =
      classes.entries.filter { $0.value is M.Type }.map(\.key)
      + own.filter { classes[$0] == nil }
    return .ofTypes(names, under: key)
  }

  /// Returns the class of a document with these properties; nil if it is unknown.
  func modelClass(of properties: EncodedValue) -> Model.Type? {
    for key in typeKeys {
      let found = try? properties.withText(key) { name in
        classes[utf8: name] ?? chooser.flatMap { chooser in String(utf8: name).flatMap(chooser) }
      }
      if let found = found ?? nil, haveSameUTF8(found.documentTypeKey, key) { return found }
    }
    return nil
  }
}
