// Serves databases in memory over CouchDB's protocol, for the tests with PouchDB in Tests/pouchdb:
//
//     swift run SyncServer [PORT]
//     swift run SyncServer rates URL COUNT
//
// It prints its URL, and runs until it is stopped. The second form measures how fast Divan
// replicates with the server of another process.
import Foundation

let arguments = CommandLine.arguments.dropFirst()
if arguments.count == 3, arguments.first == "rates", let count = arguments.last.flatMap({ Int($0) })
{
  try await ReplicationRates(server: CommandLine.arguments[2], count: count).measure()
} else {
  let server = try ServiceServer(port: arguments.first.flatMap { UInt16($0) } ?? 0)
  // Not `print`, which waits until there is more when a file is written.
  FileHandle.standardOutput.write(Data("http://127.0.0.1:\(server.port)\n".utf8))
  while true { try await Task.sleep(for: .seconds(3600)) }
}
