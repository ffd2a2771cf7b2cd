import Divan
public import DivanSync
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file with the users of a server and the hashes of their passwords.
///
/// ```json
/// {"users": [{"name": "ada", "password": "pbkdf2-sha256$…", "stores": {"films": "write"}}]}
/// ```
public struct UsersFile: Sendable {
  /// The users.
  public var users: [CouchDBService.User] = []

  /// Creates a file without users.
  public init() {}

  /// Reads a file.
  ///
  /// - Throws: ``ServerOptions/Invalid`` if it is no file of users.
  public init(contentsOf path: String) throws {
    let data = try Data(contentsOf: URL(filePath: path))
    guard let entries = try Value(json: data)["users"]?.arrayValue else {
      throw ServerOptions.Invalid("\(path) has no list of users.")
    }
    for (index, entry) in entries.enumerated() {
      guard let user = entry.objectValue.flatMap({ CouchDBService.User($0) }) else {
        throw ServerOptions.Invalid("\(path): the entry \(index + 1) is no user.")
      }
      guard !users.contains(where: { $0.name == user.name }) else {
        throw ServerOptions.Invalid("\(path): the user “\(user.name)” is there twice.")
      }
      users.append(user)
    }
  }

  /// Writes the file, which only its owner may read, at once or not at all.
  public func write(to path: String) throws {
    let json = Value.object(["users": .array(users.map { .object($0.properties) })]).prettyJSON
    let url = URL(filePath: path)
    let temporary = url.deletingLastPathComponent().appending(path: ".\(UUID().uuidString)")
    guard
      FileManager.default.createFile(
        atPath: temporary.path, contents: Data((json + "\n").utf8),
        attributes: [.posixPermissions: 0o600])
    else { throw ServerOptions.Invalid("\(path) cannot be written.") }
    guard unsafe rename(temporary.path, url.path) == 0 else {
      try? FileManager.default.removeItem(at: temporary)
      throw ServerOptions.Invalid("\(path) cannot be replaced.")
    }
  }
}

/// The commands that change a file of users.
public enum UserCommand {
  /// Adds or replaces a user, or removes one.
  ///
  /// - Parameters:
  ///   - arguments: The command, the name and the options.
  ///   - iterationCount: The iterations of the hash; tests use few.
  ///   - readPassword: Returns the password.
  /// - Returns: What was done, for people.
  /// - Throws: ``ServerOptions/Invalid``.
  public static func run(
    _ arguments: [String], iterationCount: Int = PasswordHash.recommendedIterationCount,
    readPassword: () -> String?
  ) throws -> String {
    guard arguments.count >= 2, CouchDBService.User.isValid(name: arguments[1]) else {
      throw ServerOptions.Invalid(
        "The name of the user is missing, or has a colon or control characters.")
    }
    let name = arguments[1]
    var path: String?
    var permissions: [String: CouchDBService.Permission] = [:]
    var rest = arguments[2...]
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else {
        throw ServerOptions.Invalid("The value of \(option) is missing.")
      }
      switch option {
      case "--users": path = value
      case "--permission":
        let parts = value.split(separator: ":")
        guard parts.count == 2,
          let permission = CouchDBService.Permission(rawValue: String(parts[1]))
        else { throw ServerOptions.Invalid("A permission is STORE:read or STORE:write: \(value)") }
        permissions[String(parts[0])] = permission
      default: throw ServerOptions.Invalid("The argument \(option) is not known.")
      }
    }
    guard let path else { throw ServerOptions.Invalid("--users is missing.") }
    var file = UsersFile()
    if FileManager.default.fileExists(atPath: path) { file = try UsersFile(contentsOf: path) }
    let count = file.users.count
    file.users.removeAll { $0.name == name }
    if arguments[0] == "remove-user" {
      guard file.users.count < count else {
        throw ServerOptions.Invalid("There is no user “\(name)”.")
      }
      try file.write(to: path)
      return "The user “\(name)” was removed."
    }
    guard !permissions.isEmpty else { throw ServerOptions.Invalid("--permission is missing.") }
    guard let password = readPassword(), !password.isEmpty else {
      throw ServerOptions.Invalid("The password is missing.")
    }
    file.users.append(
      CouchDBService.User(
        name: name, password: PasswordHash(of: password, iterationCount: iterationCount),
        permissions: permissions))
    try file.write(to: path)
    return "The user “\(name)” was \(file.users.count > count ? "added" : "replaced")."
  }
}
