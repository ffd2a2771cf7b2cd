public import Foundation

/// The folder of the project, for tests that compare the code with a document or a fixture.
///
/// Public, because tests of guides are also compiled as the code of another package.
public enum ProjectFolder {
  /// The nearest folder above this file that contains `Package.swift`.
  public static let url: URL = {
    var folder = URL(filePath: #filePath)
    repeat {
      folder.deleteLastPathComponent()
    } while folder.path.count > 1
      && !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
    return folder
  }()

  /// The tests that run the code of Divan's pages.
  public static var guides: URL { url.appending(path: "Tests/DivanTests/Guides") }

  /// Returns the text of a file whose path starts at the folder of the project.
  public static func text(of path: String) throws -> String {
    try String(contentsOf: url.appending(path: path), encoding: .utf8)
  }
}
