import Divan
import DivanLog
import Testing
import logdump

struct LogDumpTests {
  @Test func `smoke`() throws {
    let store = try DumpedStore.films()
    for arguments in [
      [], ["ls"], ["frames"], ["tx", "--records"], ["doc", "metropolis", "--revs"], ["stats"],
      ["att"], ["verify"], ["export"], ["salvage", "--to", "/new.divan"],
    ] {
      for extra in [[], ["--json"]] {
        if arguments.first == "salvage", !extra.isEmpty { continue }
        let run = store.dumpAll(arguments + extra)
        print("$ logdump", (arguments + extra).joined(separator: " "))
        print(run.output, run.problems, "=> \(run.status)")
      }
    }
  }
}
