#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

// System calls are repeated when a signal interrupts them, and when a call moves only a part of the
// bytes. The call itself is a parameter, so that tests can replace the system.

/// Repeats a call for as long as a signal interrupts it.
@discardableResult
func uninterrupted<Result: FixedWidthInteger & SignedInteger>(
  _ call: String, _ path: String, _ body: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result != -1 { return result }
    let number = errno
    if number != EINTR {
      throw SystemError(call: call, path: path, code: .init(rawValue: number))
    }
  }
}

/// A transfer of bytes that may take several read or write calls.
struct Transfer {
  /// The name of the call and the path, for errors.
  let call: String
  let path: String
  /// The number of bytes to transfer.
  let count: Int
  /// The largest number of bytes that one call requests.
  ///
  /// Linux moves at most 2 GiB, Darwin refuses more.
  var chunkSize = 64 << 20
}

extension Transfer {
  /// Makes calls until all bytes are moved, or a call moves none, as at the end of a file.
  ///
  /// `move` makes one call for `count` bytes after the first `done` bytes. It returns how many it
  /// moved, or -1 with the reason in `errno`. Returns the total number of bytes moved.
  func run(_ move: (_ done: Int, _ count: Int) -> Int) throws(SystemError) -> Int {
    var done = 0
    while done < count {
      let moved = try uninterrupted(call, path) { move(done, min(count - done, chunkSize)) }
      // Another call might move none either, and the loop would never end.
      if moved == 0 { break }
      done += moved
    }
    return done
  }

  /// Makes calls until all bytes are moved; a call that moves none is an error.
  func runWhole(_ move: (_ done: Int, _ count: Int) -> Int) throws(SystemError) {
    guard try run(move) == count else {
      throw SystemError(call: call, path: path, code: .inputOutput)
    }
  }
}
