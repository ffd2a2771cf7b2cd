import Foundation

/// Inserts bugs into source texts, each behind a switch.
struct Planting {
  let bugs: [PlantedBug]

  /// The reason why the bugs cannot be planted.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// Plants all bugs in the sources at `paths`, from the project's root.
  ///
  /// `read` returns the text of one of them. Bugs are planted in sequence, so the edit of a later
  /// one matches code as an earlier one left it.
  /// - Returns: The texts of the files that changed, by their paths.
  func texts(
    among paths: [String], _ read: (String) throws -> String
  ) throws -> [String: String] {
    guard Set(bugs.map(\.name)).count == bugs.count else {
      throw Problem(description: "two planted bugs have the same name")
    }
    var texts: [String: SourceCode] = [:]
    var problems: [String] = []
    for bug in bugs {
      for edit in bug.edits {
        do {
          let path = try Planting.path(of: edit, for: bug, among: paths)
          let text = try texts[path] ?? SourceCode(read(path))
          texts[path] = try Planting.apply(edit, of: bug, to: text)
        } catch let problem as Problem {
          problems.append(problem.description)
        }
      }
    }
    guard problems.isEmpty else {
      throw Problem(
        description: problems.joined(separator: "\n") + """

          If the code has changed, say in Tests/PlantedBugs where each bug belongs now; if what it \
          breaks is gone, remove it there.
          """)
    }
    return texts.mapValues(\.text)
  }

  /// Returns the one path that ends with the file name of an edit.
  private static func path(
    of edit: PlantedBug.Edit, for bug: PlantedBug, among paths: [String]
  ) throws(Problem) -> String {
    let ending = "/" + edit.file
    let found = paths.filter { $0.hasSuffix(ending) }
    guard found.count == 1 else {
      throw Problem(description: "\(bug.name): \(found.count) files are called \(edit.file)")
    }
    return found[0]
  }

  private static func apply(
    _ edit: PlantedBug.Edit, of bug: PlantedBug, to source: SourceCode
  ) throws(Problem) -> SourceCode {
    guard edit.plant.contains("PLANTED") else {
      throw Problem(description: "\(bug.name): what is planted has no switch")
    }
    let places = source.lines(with: SourceCode(edit.find))
    guard places.count == 1 else {
      throw Problem(
        description: """
          \(bug.name): its place in \(edit.file) is found \(places.count) times:
          \(edit.find)
          """)
    }
    let planted = edit.plant.replacing("PLANTED", with: "Planted.\(bug.switchName)")
    return source.replacing(places[0], with: planted)
  }

  /// The source of a file with the selected bugs, for each target with bugs.
  ///
  /// An unknown name ends the program, so that a run without the bug is not mistaken for one that
  /// did not detect it.
  var switches: String {
    """
    import Foundation

    /// Which of the planted bugs this process has.
    enum Planted {
      private static let names: Set<String> = [
        \(bugs.map { "\"\($0.name)\"," }.joined(separator: "\n    "))
      ]
      private static let chosen: Set<String> = {
        let wanted = ProcessInfo.processInfo.environment["\(Planting.variable)"] ?? ""
        let chosen = Set(wanted.split(separator: ",").map(String.init))
        guard chosen.isSubset(of: names) else {
          print("There is no planted bug \\(chosen.subtracting(names))")
          exit(70)
        }
        return chosen
      }()

    \(bugs.map { "  static let \($0.switchName) = chosen.contains(\"\($0.name)\")" }
      .joined(separator: "\n"))
    }

    """
  }

  /// The environment variable that names the bugs to choose, with commas between them.
  static let variable = "DIVAN_PLANTED_BUGS"
}

extension PlantedBug {
  /// The name of the bug's switch in the source.
  var switchName: String {
    let words = name.split(separator: "-")
    return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
  }
}
