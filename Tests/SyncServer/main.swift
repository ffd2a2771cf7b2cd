// Serves databases in memory over CouchDB's protocol, for the tests with PouchDB in Tests/pouchdb:
//
//     swift run SyncServer [PORT]
//
// It prints its URL, and runs until it is stopped.
import Foundation

let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0
let server = try ServiceServer(port: port)
// Not `print`, which waits until there is more when a file is written.
FileHandle.standardOutput.write(Data("http://127.0.0.1:\(server.port)\n".utf8))
while true { Thread.sleep(forTimeInterval: 3600) }
