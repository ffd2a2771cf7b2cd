// Works with a store until it is killed, and prints the acknowledged commits to standard output. A
// proof starts this process, monitors it and kills it. The proof keeps the ledger.
import Foundation
import ProofKit

guard let program = OtherProgram(arguments: Array(CommandLine.arguments.dropFirst())) else {
  print("usage: OtherProcess write|hold|read|churn|check|suspend|refresh STORE [NAME=VALUE…]")
  exit(64)
}
exit(program.run())
