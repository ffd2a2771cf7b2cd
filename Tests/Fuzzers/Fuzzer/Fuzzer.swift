import Foundation
import FuzzTargets

/// What libFuzzer calls, for the target that the environment names.
enum Fuzzer {
  /// The target of this run.
  static let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["DIVAN_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      let known = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
      print("DIVAN_FUZZ_TARGET must be one of \(known)")
      exit(64)
    }
    return target
  }()

  /// Writes what the target begins with into the folder that the environment names, if it names one.
  static func writeSeeds() {
    guard let folder = ProcessInfo.processInfo.environment["DIVAN_FUZZ_SEEDS"] else { return }
    for seed in FuzzSeeds.seeds(for: target) {
      let url = URL(filePath: folder).appending(path: "seed-\(seed.name)")
      do {
        try Data(seed.bytes).write(to: url)
      } catch {
        print("\(url.path): \(error)")
        exit(74)
      }
    }
  }

  static func run(_ input: [UInt8]) {
    do {
      try target.run(input)
    } catch {
      // libFuzzer keeps the input of a run that does not return.
      FileHandle.standardError.write(Data("FOUND: \(error)\n".utf8))
      abort()
    }
  }
}
