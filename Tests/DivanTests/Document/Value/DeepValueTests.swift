import Divan
import Foundation
import Synchronization
import Testing

/// Tests of values nested far too deep for recursion on a stack of 512 KiB.
@Suite struct `Deep values` {
  private static let depth = 200_000

  /// A value that is dismantled iteratively, since Swift releases nested arrays by recursion.
  private final class Deep: @unchecked Sendable {
    private(set) var value: Value

    init(isObject: Bool, innermost: Value = 1, depth: Int = `Deep values`.depth) {
      value = innermost
      for _ in 0..<depth {
        let inner = value
        value = isObject ? .object(["a": inner]) : .array([inner])
      }
    }

    deinit {
      while true {
        switch value {
        case .array(var elements):
          value = .null
          guard let last = elements.popLast() else { return }
          value = last
        case .object(var object):
          value = .null
          guard let last = object.removeValue(forKey: "a") else { return }
          value = last
        default: return
        }
      }
    }
  }

  /// Runs `body` on a thread with a small stack.
  private func onSmallStack<R: Sendable>(
    _ size: Int = 512 << 10, _ body: @escaping @Sendable () -> R
  ) -> R {
    let result = Mutex<R?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let thread = Thread {
      let found = body()
      result.withLock { $0 = found }
      isDone.signal()
    }
    thread.stackSize = size
    thread.start()
    isDone.wait()
    guard let found = result.withLock({ $0 }) else { preconditionFailure("The thread is done") }
    return found
  }

  @Test(arguments: [false, true])
  func `comparing, hashing and printing deep values need no deep stack`(isObject: Bool) {
    let (a, b, c) = (
      Deep(isObject: isObject), Deep(isObject: isObject), Deep(isObject: isObject, innermost: 2)
    )
    #expect(onSmallStack { a.value == b.value })
    #expect(onSmallStack { a.value != c.value })
    #expect(onSmallStack { a.value.hashValue == b.value.hashValue })
    #expect(onSmallStack { Set([a.value, b.value, c.value]).count } == 2)
    let size = isObject ? `Deep values`.depth * 6 + 1 : `Deep values`.depth * 2 + 1
    #expect(onSmallStack { a.value.description.utf8.count } == size)
    #expect(onSmallStack { a.value.json.utf8.count } == size)
  }

  @Test(arguments: [false, true])
  func `pretty-printed JSON grows linearly with the nesting depth`(isObject: Bool) {
    let deep = Deep(isObject: isObject)
    #expect(onSmallStack { deep.value.prettyJSON.utf8.count } < `Deep values`.depth * 500)
  }

  @Test(arguments: [false, true])
  func `storing or encoding a value nested too deep is refused`(isObject: Bool) throws {
    let deep = Deep(isObject: isObject)
    let database = try Database.inMemory()
    let code = onSmallStack { () -> DatabaseError.Code? in
      do {
        try database.write { transaction in
          _ = try transaction.put(Document(id: "a", Value.Object([("a", deep.value)])))
        }
        return nil
      } catch {
        return (error as? DatabaseError)?.code
      }
    }
    #expect(code == .documentTooLarge)
    // Encoders recurse down to the stored depth limit, and debug builds use much stack per level.
    let encoding = onSmallStack(4 << 20) { () -> String in
      do {
        _ = try DocumentEncoder().encode(["a": deep.value])
        return "none"
      } catch {
        return "\(type(of: error))"
      }
    }
    #expect(encoding != "none")
    let other = onSmallStack(4 << 20) { () -> Bool in
      do {
        _ = try JSONEncoder().encode(deep.value)
        return false
      } catch {
        return error is EncodingError
      }
    }
    #expect(other)
  }

  @Test func `a three-way merge treats objects nested too deep as single values`() {
    let (a, b, c) = (
      Deep(isObject: true, depth: 3000), Deep(isObject: true, innermost: 2, depth: 3000),
      Deep(isObject: true, innermost: 3, depth: 3000)
    )
    let count = onSmallStack { () -> Int in
      guard case .object(let base) = a.value, case .object(let mine) = b.value,
        case .object(let theirs) = c.value
      else { return -1 }
      let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
      return merge.overlaps.count
    }
    #expect(count == 1)
  }
}
