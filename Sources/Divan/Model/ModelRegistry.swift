import DivanLog

/// Which class of models documents are of, by their `type`.
///
/// ```swift
/// let registry = try ModelRegistry(Film.self, Series.self)   // both are subclasses of Show
/// let context = database.makeContext(registry)
/// let show = try context.model(Show.self, id)                // a Film, or a Series
/// ```
///
/// Without one, a document becomes a model of the class that is asked for.
public struct ModelRegistry: Sendable {
  private var classes: ByteKeyed<Model.Type> = [:]
  /// Where documents say what they are, each once, in the order in which their classes came.
  private var typeKeys: [String] = []
  private let chooser: (@Sendable (_ type: String) -> Model.Type?)?

  /// Makes a registry of classes, each of which declares a ``Model/documentType``.
  ///
  /// - Parameters:
  ///   - classes: the classes.
  ///   - chooser: asked for the class of a `type` that none of those has; nil for one that it does not
  ///     know either.
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if a class declares no type, or two declare the same.
  public init(
    _ classes: Model.Type..., chooser: (@Sendable (_ type: String) -> Model.Type?)? = nil
  ) throws {
    self.chooser = chooser
    if chooser != nil { typeKeys.append(Model.documentTypeKey) }
    for each in classes { try register(each) }
  }

  /// Adds a class, for contexts that are made from now on.
  ///
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if the class declares no type, or another one
  ///   has declared it.
  public mutating func register(_ type: Model.Type) throws {
    guard let name = type.documentType else {
      throw DatabaseError(
        .invalidModelClass, "\(type) declares no document type",
        hint: "Override `class var documentType`")
    }
    if let other = classes[name], other != type {
      throw DatabaseError(
        .invalidModelClass,
        "\(other) and \(type) both declare the document type \(name.debugDescription)")
    }
    classes[name] = type
    let key = type.documentTypeKey
    if !typeKeys.contains(where: { haveSameUTF8($0, key) }) { typeKeys.append(key) }
  }

  /// The classes that are registered.
  var types: [Model.Type] { classes.entries.map(\.value) }

  /// The class of the documents that have this type.
  public subscript(type: String) -> Model.Type? { classes[type] ?? chooser?(type) }

  /// Which documents are of a class or of a subclass of it, by the classes that are registered; nil if that takes
  /// code to say.
  func subclassNames<M: Model>(of type: M.Type) -> FilterExpression? {
    // Where a class is not registered, documents of unknown classes may be of it.
    guard chooser == nil, typeKeys.count == 1, let key = typeKeys.first,
      classes.entries.contains(where: { $0.value == type })
    else { return nil }
    let names = classes.entries.filter { $0.value is M.Type }.map(\.key)
    let path = QueryPath(steps: [.key(key)])
    return .test(
      path, names.count == 1 ? .equal(.string(names[0])) : .oneOf(names.map { .string($0) }))
  }

  /// The class of a document of these properties; nil if nobody knows.
  func modelClass(of body: EncodedValue) -> Model.Type? {
    for key in typeKeys {
      guard let name = try? body.string(key), let found = self[name],
        haveSameUTF8(found.documentTypeKey, key)
      else { continue }
      return found
    }
    return nil
  }
}

extension DatabaseError.Code {
  /// A class of models cannot be used as it is declared.
  public static let invalidModelClass = Self("invalidModelClass")
}
