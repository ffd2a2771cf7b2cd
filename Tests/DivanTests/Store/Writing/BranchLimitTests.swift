import Foundation
import Testing

@testable import Divan

/// Tests of the branch limit: a document takes space that grows with the square of its branches.
@Suite struct BranchLimitTests {
  private func revision(_ generation: UInt64, _ number: Int) -> RevisionID {
    let digest = String(repeating: "0", count: 26) + String(100_000 + number)
    guard let revision = RevisionID(generation: generation, digest: digest) else {
      preconditionFailure("This is a digest")
    }
    return revision
  }

  @Test func `the number of branches is limited, and existing ones can be continued and resolved`()
    throws
  {
    let limit = 40
    var configuration = Configuration()
    #expect(configuration.branchLimit == DocumentLimits.branches)
    configuration.branchLimit = limit
    let database = try Database.inMemory(configuration: configuration)
    let root = revision(1, 0)
    try database.write { transaction in
      try transaction.insert(Document(id: "a", ["n": 0]), history: [root])
      for number in 1...limit {
        try transaction.insert(
          Document(id: "a", ["n": .int(Int64(number))]), history: [revision(2, number), root])
      }
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.write {
        _ = try $0.insert(Document(id: "a"), history: [revision(2, limit + 1), root])
      }
    }
    #expect(error?.code == .documentTooLarge && error?.documentID == "a")
    try database.write { (transaction: WriteTransaction) throws in
      // A known revision, and one that continues a leaf.
      #expect(try !transaction.insert(Document(id: "a"), history: [revision(2, 1), root]))
      #expect(
        try transaction.insert(
          Document(id: "a", ["n": -1]), history: [revision(3, 1), revision(2, 1), root]))
      #expect(try transaction.purge("a", revision: revision(2, 2)))
      #expect(try transaction.insert(Document(id: "a"), history: [revision(2, limit + 1), root]))
    }
    try database.write { transaction in _ = try transaction.resolve("a") { _ in .mine } }
    #expect(try database.snapshot().document("a") != nil)
    #expect(try database.snapshot().branches(of: "a").count == 1)
  }

  @Test func `branches that this store creates count like those of other stores`() throws {
    var configuration = Configuration()
    configuration.branchLimit = 10
    let database = try Database.inMemory(configuration: configuration)
    let first = try database.write { try $0.put(Document(id: "a", ["n": 0])) }
    try database.write { (transaction: WriteTransaction) throws in
      for number in 1...10 {
        var branch = first
        branch["n"] = .int(Int64(number))
        _ = try transaction.put(branch, onConflict: .branch)
      }
    }
    var branch = first
    branch["n"] = 11
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.put(branch, onConflict: .branch) }
    }
    #expect(error?.code == .documentTooLarge && error?.documentID == "a")
  }

  @Test func `branches with separate histories have a lower limit and can still be resolved`()
    throws
  {
    var configuration = Configuration()
    configuration.branchLimit = 100
    let database = try Database.inMemory(configuration: configuration)
    func history(_ number: Int) -> [RevisionID] {
      (1...20).reversed().map { revision($0, 1000 * number + Int($0)) }
    }
    var count = 0
    let error = #expect(throws: DatabaseError.self) {
      while count < 100 {
        try database.write { transaction in
          _ = try transaction.insert(
            Document(id: "a", ["n": .int(Int64(count))]), history: history(count))
        }
        count += 1
      }
    }
    #expect(error?.code == .documentTooLarge && (20..<50).contains(count))
    try database.write { transaction in _ = try transaction.resolve("a") { _ in .mine } }
    #expect(try database.snapshot().branches(of: "a").count == 1)
  }
}
