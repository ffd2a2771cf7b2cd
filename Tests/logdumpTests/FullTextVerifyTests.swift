import Divan
import Testing
import logdump

/// Tests of the output of `verify` for full-text indexes, which it does not compare with documents.
struct FullTextVerifyTests {
  @Test func `verify names the full-text indexes that it does not check`() throws {
    let store = DumpedStore()
    let database = try store.open()
    try database.write { _ = try $0.replace("film", with: ["title": "Nosferatu"]) }
    try database.addIndex(DocumentIndex("titles", on: "title"))
    try database.addIndex(DocumentIndex("words", fullText: "title"))
    try database.addIndex(DocumentIndex("removed", fullText: "title"))
    try database.removeIndex(named: "removed")
    try database.close()
    let run = store.dump("verify")
    #expect(run.status == .sound)
    let line = run.lines.last ?? ""
    #expect(line.hasPrefix("Not checked: whether full-text indexes have the words"), "\(line)")
    #expect(line.hasSuffix("(\"words\")."), "\(line)")
    #expect(store.dump("verify", "--json").output.contains(#""indexesNotChecked":1"#))
  }
}
