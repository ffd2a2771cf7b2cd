import DivanTesting
import Foundation
import Testing

@testable import DivanLog

/// Tests of loops that read and write with as many system calls as needed.
///
/// The system is simulated: a call may move fewer bytes than requested, be interrupted, or move
/// nothing.
@Suite struct TransferTests {
  private enum Answer: Equatable {
    case moves(Int)
    case fails(Int32)
  }

  /// A simulated system with predefined answers that records the requests.
  private final class System {
    private var answers: ArraySlice<Answer>
    private(set) var requests: [Range<Int>] = []

    init(_ answers: [Answer]) { self.answers = answers[...] }

    var isDone: Bool { answers.isEmpty }

    func call(_ done: Int, _ count: Int) -> Int {
      requests.append(done..<done + count)
      switch answers.popFirst() {
      case .moves(let moved):
        return moved
      case .fails(let number):
        errno = number
        return -1
      case nil:
        Issue.record("no further call was expected after \(requests)")
        errno = EIO
        return -1
      }
    }
  }

  private func transfer(_ count: Int, chunkSize: Int = 1 << 20) -> Transfer {
    Transfer(call: "pwrite", path: "/a", count: count, chunkSize: chunkSize)
  }

  @Test func `a partial transfer is followed by a call for the rest`() throws {
    let system = System([.moves(3), .moves(1), .moves(6)])
    #expect(try transfer(10).run(system.call) == 10)
    #expect(system.requests == [0..<10, 3..<10, 4..<10])
    let writing = System([.moves(9), .moves(1)])
    try transfer(10).runWhole(writing.call)
    #expect(writing.requests == [0..<10, 9..<10])
  }

  @Test func `an interrupted call is repeated, however often it is interrupted`() throws {
    let system = System([.fails(EINTR), .fails(EINTR), .moves(4), .fails(EINTR), .moves(6)])
    #expect(try transfer(10).run(system.call) == 10)
    #expect(system.requests == [0..<10, 0..<10, 0..<10, 4..<10, 4..<10])
    #expect(system.isDone)
  }

  @Test func `no call requests more than the chunk size`() throws {
    let system = System([.moves(4), .moves(3), .moves(3)])
    try transfer(10, chunkSize: 4).runWhole(system.call)
    #expect(system.requests == [0..<4, 4..<8, 7..<10])
  }

  @Test func `an empty transfer makes no call`() throws {
    #expect(try transfer(0).run(System([]).call) == 0)
    try transfer(0).runWhole(System([]).call)
  }

  @Test(arguments: [[], [3], [3, 6]])
  func `a call that transfers nothing ends a read, fails a write, and is not repeated`(
    before: [Int]
  ) throws {
    let answers = before.map { Answer.moves($0) } + [.fails(EINTR), .moves(0)]
    let reading = System(answers)
    #expect(try transfer(10).run(reading.call) == before.reduce(0, +))
    #expect(reading.isDone)
    let writing = System(answers)
    let error = #expect(throws: SystemError.self) { try transfer(10).runWhole(writing.call) }
    #expect(error == SystemError(call: "pwrite", path: "/a", code: .inputOutput))
    #expect(writing.isDone)
  }

  @Test(arguments: [[], [3], [3, 6]])
  func `a system error is passed on, and the rest is not transferred`(before: [Int]) throws {
    let answers = before.map { Answer.moves($0) } + [.fails(ENOSPC)]
    for isWhole in [false, true] {
      let system = System(answers)
      let error = #expect(throws: SystemError.self) {
        if isWhole {
          try transfer(10).runWhole(system.call)
        } else {
          _ = try transfer(10).run(system.call)
        }
      }
      #expect(error == SystemError(call: "pwrite", path: "/a", code: .noSpace))
      #expect(system.isDone)
    }
  }

  @Test func `all bytes arrive once and in order, however they are split`() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let source = (0..<Int.random(in: 0...300, using: &random)).map {
        UInt8(truncatingIfNeeded: $0)
      }
      // A read ends at the end of the file, if that is earlier.
      let end = Int.random(in: 0...400, using: &random)
      var target: [UInt8] = []
      let moved = try transfer(source.count, chunkSize: 64).run { (done, count) in
        if Int.random(in: 0..<4, using: &random) == 0 {
          errno = EINTR
          return -1
        }
        let left = min(count, end - done)
        guard left > 0 else { return 0 }
        let part = Int.random(in: 1...left, using: &random)
        target += source[done..<done + part]
        return part
      }
      #expect(target == Array(source.prefix(end)), "seed \(seed)")
      #expect(moved == target.count, "seed \(seed)")
    }
  }
}
