// Gathers the evidence for Divan's promises: `swift run -c release Proofs ci`.
import Foundation
import ProofKit

exit(ProofProgram(arguments: Array(CommandLine.arguments.dropFirst())).run())
