import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A source of films: a file, or quickstart's own films.
struct FilmSource {
  let name: String
  private let bytes: [UInt8]

  /// Uses quickstart's own films.
  init() {
    name = "quickstart's own films"
    bytes = Array(ownFilms.utf8)
  }

  /// Reads a file.
  init(file path: String) throws(Failure) {
    name = path
    guard FileManager.default.fileExists(atPath: path) else {
      throw Failure("there is no file \(path)")
    }
    do {
      bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw Failure("\(path) cannot be read: \(error)")
    }
  }

  /// Calls `body` with each film, as it is in the source.
  func forEachFilm(_ body: (Value.Object) throws -> Void) throws {
    var elements = JSONElements(bytes)
    var number = 0
    while let element = try nextElement(&elements) {
      number += 1
      guard case .object(let film) = element else {
        throw Failure("\(name): element \(number) is no object, and so no film")
      }
      try body(film)
    }
  }

  private func nextElement(_ elements: inout JSONElements) throws(Failure) -> Value? {
    do {
      return try elements.next()
    } catch {
      throw Failure("\(name): \(error)")
    }
  }
}
