// Works with a store until it is killed, and says on standard output what was acknowledged. A proof starts
// it, watches it and kills it; the ledger is the proof's.
import Foundation
import ProofKit

guard let program = OtherProgram(arguments: Array(CommandLine.arguments.dropFirst())) else {
  print("usage: OtherProcess write|hold|read|churn|check STORE [NAME=VALUE…]")
  exit(64)
}
exit(program.run())
