import Foundation
import FuzzTargets

/// The functions that libFuzzer calls, for the target that the environment specifies.
@main enum Fuzzer {
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

  /// Writes the target's seeds into the folder that the environment specifies, if it does.
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
