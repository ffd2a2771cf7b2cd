import Foundation
import Testing

/// Runs the tests without a list of them, as the package manager's own main function does.
///
/// On Linux, the package manager looks for classes of XCTest in an index of all tests. An index
/// takes a tenth of the time of their compilation, and more with the sanitizer. This package has no
/// such classes, and Swift Testing finds its tests in the program. With a file of this name beside
/// a target of tests, the package manager makes no list. See `DIVAN_NO_INDEX` in Package.swift.
@main
struct TestProgram {
  static func main() async {
    // Without that option, the package manager runs tests of XCTest alone, and none would pass.
    guard CommandLine.arguments.contains("swift-testing") else {
      FileHandle.standardError.write(
        Data(
          "No test was run: add `--enable-swift-testing --disable-xctest`.\n".utf8))
      exit(64)
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
