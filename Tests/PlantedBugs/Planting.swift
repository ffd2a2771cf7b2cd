import Foundation

/// Puts bugs into source texts, each behind a switch.
struct Planting {
  let bugs: [PlantedBug]

  /// Why the bugs cannot be planted.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// The files that bugs stand in.
  var files: Set<String> { Set(bugs.flatMap { $0.edits.map(\.file) }) }

  /// Plants all bugs; `read` gives the text of a file by its path in the project.
  ///
  /// Bugs are planted one after the other, so a later one names lines as an earlier one left them.
  func texts(_ read: (String) throws -> String) throws -> [String: String] {
    guard Set(bugs.map(\.name)).count == bugs.count else {
      throw Problem(description: "two planted bugs have the same name")
    }
    var texts: [String: [Substring]] = [:]
    var problems: [String] = []
    for bug in bugs {
      for edit in bug.edits {
        let lines = try texts[edit.file] ?? Planting.lines(of: read(edit.file))
        do throws(Problem) {
          texts[edit.file] = try Planting.apply(edit, of: bug, to: lines)
        } catch {
          problems.append(error.description)
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
    return texts.mapValues { $0.joined(separator: "\n") }
  }

  private static func lines(of text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  private static func apply(
    _ edit: PlantedBug.Edit, of bug: PlantedBug, to lines: [Substring]
  ) throws(Problem) -> [Substring] {
    guard edit.plant.contains("PLANTED") else {
      throw Problem(description: "\(bug.name): what is planted has no switch")
    }
    func trimmed(_ line: Substring) -> String { line.trimmingCharacters(in: .whitespaces) }
    let wanted = Self.lines(of: edit.find).map(trimmed)
    let text = lines.map(trimmed)
    let places = text.indices.filter {
      $0 + wanted.count <= text.count && Array(text[$0..<$0 + wanted.count]) == wanted
    }
    guard places.count == 1, let place = places.first else {
      throw Problem(
        description: """
          \(bug.name): its place in \(edit.file) is found \(places.count) times:
          \(edit.find)
          """)
    }
    let indentation = lines[place].prefix { $0 == " " }
    let planted = edit.plant.replacing("PLANTED", with: "Planted.\(bug.switchName)")
    let inserted = Self.lines(of: planted).map { $0.isEmpty ? $0 : indentation + $0 }
    return Array(lines[..<place]) + inserted + Array(lines[(place + wanted.count)...])
  }

  /// A file that says which bugs were chosen, for each target with bugs.
  ///
  /// A name that is not known ends the program, so that nobody takes no bug for one that was not
  /// noticed.
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
  /// What the bug's switch is called in the source.
  var switchName: String {
    let words = name.split(separator: "-")
    return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
  }
}
