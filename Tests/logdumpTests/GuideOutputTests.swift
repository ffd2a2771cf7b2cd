import Foundation
import TestSupport
import Testing
import logdump

/// Tests that the guide InspectingWithLogdump shows the actual commands and their output.
struct GuideOutputTests {
  private static func guide() throws -> String {
    try ProjectFolder.text(of: "Sources/Divan/Divan.docc/InspectingWithLogdump.md")
  }

  @Test(arguments: [
    ["info"], ["tx", "--records"], ["stats"], ["verify"], ["salvage", "--to", "/Saved.divan"],
    ["report", "--html", "/Report.html"],
  ])
  func `the guide shows the actual output of a command`(arguments: [String]) throws {
    let guide = try Self.guide()
    let run = try DumpedStore.films().dumpAll(arguments)
    #expect(run.status == .sound)
    // The guide's paths are relative.
    let output = run.output.replacing("/films", with: "Films").replacing("/Saved", with: "Saved")
      .replacing("/Report", with: "Report")
    #expect(guide.contains(output), "\(output)")
    let command = arguments.joined(separator: " ").replacing("/Saved", with: "Saved")
      .replacing("/Report", with: "Report")
    #expect(guide.contains("logdump Films.divan \(command)\n"))
  }

  @Test func `the guide has every command, option and exit status`() throws {
    let guide = try Self.guide()
    let help = DumpedStore().run(["--help"]).output
    let options = Set(help.matches(of: /--[a-z][a-z-]+/).map { String($0.output) })
    #expect(options.count > 10)
    for option in options { #expect(guide.contains("`\(option)") || guide.contains(" \(option)")) }
    let commands = ["info", "ls", "frames", "tx", "doc", "att", "stats", "verify", "export"]
    for command in commands + ["salvage", "report"] {
      #expect(guide.contains("| `\(command)"), "\(command)")
    }
    for status in 0...5 { #expect(guide.contains("\n| \(status) | ")) }
  }
}
