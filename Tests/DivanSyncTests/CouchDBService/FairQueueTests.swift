import Dispatch
import Synchronization
import Testing

@testable import DivanSync

/// Tests of work that is done in turns, as the checks of passwords are.
struct FairQueueTests {
  private let queue = FairQueue<String>(32, each: 8, label: "divan.test.turns")
  /// Holds the thread until it is signalled.
  private let begin = DispatchSemaphore(value: 0)
  private let order = Recorder()

  private final class Recorder: Sendable {
    private let keys = Mutex<[String]>([])

    var all: [String] { keys.withLock { $0 } }

    func add(_ key: String) { keys.withLock { $0.append(key) } }
  }

  /// Begins work that does not end until the signal.
  private func occupy() async throws -> Task<Bool?, Never> {
    let (queue, begin) = (queue, begin)
    let flag = Flag()
    let task = Task {
      await queue.run(for: "first") {
        flag.set()
        begin.wait()
        return true
      }
    }
    while !flag.isSet { try await Task.sleep(for: .milliseconds(1)) }
    return task
  }

  private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
  }

  /// Adds work, and returns when it waits or was refused.
  private func add(_ key: String?) async throws -> Task<Bool?, Never> {
    let (queue, order) = (queue, order)
    let ended = Flag()
    let before = queue.waitingCount
    let task = Task {
      defer { ended.set() }
      return await queue.run(for: key) {
        order.add(key ?? "nil")
        return true
      }
    }
    for _ in 0..<200 where queue.waitingCount == before && !ended.isSet {
      try await Task.sleep(for: .milliseconds(1))
    }
    return task
  }

  /// Regression test: a login waited behind all the guesses of one address.
  @Test func `one address does not keep another one waiting`() async throws {
    let first = try await occupy()
    var tasks: [Task<Bool?, Never>] = []
    for _ in 0..<10 { tasks.append(try await add("guesses")) }
    tasks.append(try await add("login"))
    begin.signal()
    var results: [Bool?] = []
    for task in tasks { results.append(await task.value) }
    #expect(await first.value == true)
    #expect(results.filter { $0 == nil }.count == 2 && results.last == true)
    #expect(order.all == ["guesses", "login"] + Array(repeating: "guesses", count: 7))
  }

  /// Regression test: four addresses kept all others out.
  @Test func `many addresses give way to one that has less`() async throws {
    let first = try await occupy()
    var tasks: [Task<Bool?, Never>] = []
    for number in 0..<32 { tasks.append(try await add("guesses \(number % 4)")) }
    #expect(queue.waitingCount == 32)
    let login = try await add("login")
    #expect(queue.waitingCount == 32)
    begin.signal()
    #expect(await login.value == true)
    #expect(await first.value == true)
    var results: [Bool?] = []
    for task in tasks { results.append(await task.value) }
    #expect(results.filter { $0 == nil }.count == 1)
    #expect(order.all.firstIndex(of: "login") == 4)
  }

  @Test func `what waits is limited for any number of addresses`() async throws {
    let first = try await occupy()
    var tasks: [Task<Bool?, Never>] = []
    for number in 0..<40 { tasks.append(try await add("\(number)")) }
    #expect(queue.waitingCount == 32)
    begin.signal()
    var results: [Bool?] = []
    for task in tasks { results.append(await task.value) }
    #expect(await first.value == true)
    #expect(results.prefix(32).allSatisfy { $0 == true })
    #expect(results.dropFirst(32).allSatisfy { $0 == nil })
    #expect(queue.waitingCount == 0)
    // It works again afterwards.
    #expect(await queue.run(for: nil) { false } == false)
  }

  @Test func `clients without an address share what is left`() async throws {
    let first = try await occupy()
    var tasks: [Task<Bool?, Never>] = []
    for _ in 0..<33 { tasks.append(try await add(nil)) }
    #expect(queue.waitingCount == 32)
    let login = try await add("login")
    begin.signal()
    #expect(await login.value == true)
    #expect(await first.value == true)
    #expect(order.all.prefix(2) == ["nil", "login"])
    for task in tasks { _ = await task.value }
  }
}
