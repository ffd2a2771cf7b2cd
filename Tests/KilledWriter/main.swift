// Writes to a store until it is killed, and says on standard output which commits were acknowledged.
// A test starts it and kills it; the ledger is the test's.
import Divan
import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 2 else {
  print("usage: KilledWriter STORE")
  exit(1)
}
var configuration = Configuration()
configuration.setFilesSmallForTests()
let database = try Database(at: arguments[1], configuration: configuration)
var round = try database.snapshot().get("round")?["n"]?.intValue ?? 0
while true {
  round += 1
  let number = Value.int(Int64(round))
  try database.write { transaction in
    // Two documents of their own, one of which replaces an old one, and one that counts.
    try transaction.overwrite("left-\(round % 500)", with: ["n": number])
    try transaction.overwrite("right-\(round % 500)", with: ["n": number])
    try transaction.overwrite("round", with: ["n": number])
  }
  FileHandle.standardOutput.write(Data("\(round)\n".utf8))
}
