// Gathers the evidence for Divan's promises: `swift run -c release Proofs ci`.
//
// `Proofs golden DIRECTORY` adds golden stores that are not in `Tests/Fixtures/v1` yet.
import Foundation
import ProofKit

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count == 2, arguments[0] == "golden" {
  do {
    let names = try GoldenFolder(arguments[1]).addMissingStores()
    print(names.isEmpty ? "Nothing is missing." : "Added \(names.joined(separator: ", ")).")
    exit(0)
  } catch {
    print("\(error)")
    exit(74)
  }
}
exit(ProofProgram(arguments: arguments).run())
