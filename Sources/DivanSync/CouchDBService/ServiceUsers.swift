public import Divan

extension CouchDBService {
  /// A name with a password that may use a service.
  ///
  /// ```swift
  /// let ada = CouchDBService.User(
  ///   name: "ada", password: PasswordHash(of: password), permissions: ["films": .write])
  /// ```
  public struct User: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The hash of the password.
    public var password: PasswordHash
    /// What the user may do with each database, by its name; `*` is for all others.
    public var permissions: [String: Permission]

    /// Creates a user.
    public init(name: String, password: PasswordHash, permissions: [String: Permission]) {
      self.name = name
      self.password = password
      self.permissions = permissions
    }

    /// Returns what the user may do with a database; nil if nothing.
    public func permission(for database: String) -> Permission? {
      permissions[database] ?? permissions["*"]
    }
  }

  /// What a user may do with a database.
  ///
  /// ```swift
  /// let permissions: [String: CouchDBService.Permission] = ["films": .write, "*": .read]
  /// ```
  public enum Permission: String, Sendable, Hashable, Comparable, CaseIterable {
    /// Read everything, and keep the logs of replications.
    ///
    /// The logs are local documents, which are never replicated. Each user has its own.
    case read
    /// Read and change everything.
    case write

    /// Whether a permission allows less than another one.
    public static func < (a: Permission, b: Permission) -> Bool { a == .read && b == .write }
  }
}

extension CouchDBService.User {
  /// The user as an object of JSON, for a file of users.
  ///
  /// ```json
  /// {"name": "ada", "password": "pbkdf2-sha256$…", "stores": {"films": "write"}}
  /// ```
  public var properties: Value.Object {
    [
      "name": .string(name), "password": .string(password.description),
      "stores": .object(
        Value.Object(permissions.map { ($0.key, Value.string($0.value.rawValue)) })),
    ]
  }

  /// Reads a user from an object of JSON; nil if it is none.
  public init?(_ properties: Value.Object) {
    guard let name = properties["name"]?.stringValue, Self.isValid(name: name),
      let password = properties["password"]?.stringValue.flatMap({ PasswordHash($0) }),
      let stores = properties["stores"]?.objectValue
    else { return nil }
    var permissions: [String: CouchDBService.Permission] = [:]
    for (store, value) in stores {
      guard let permission = value.stringValue.flatMap({ CouchDBService.Permission(rawValue: $0) })
      else { return nil }
      permissions[store] = permission
    }
    self.init(name: name, password: password, permissions: permissions)
  }

  /// Returns whether a name can be that of a user.
  ///
  /// It has 1 to 100 bytes, no colon, because Basic credentials have one after the name, and no
  /// control characters.
  public static func isValid(name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.unicodeScalars.allSatisfy { $0 != ":" && $0.value >= 0x20 && $0.value != 0x7F }
  }
}
