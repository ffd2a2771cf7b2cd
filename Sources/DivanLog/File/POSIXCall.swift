#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

// How calls of the system are made: again when a signal interrupted them, and as often as it takes
// where one call moves a part of the bytes only. What makes one call is handed in, so that tests can
// answer in a system's place.

/// Makes a call again for as long as a signal interrupts it.
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

/// Bytes that are to be read or written, by as many calls as it takes.
struct Transfer {
  /// The call's name, and what it is made on, for errors.
  let call: String
  let path: String
  /// How many bytes there are.
  let count: Int
  /// The most that one call is asked for.
  ///
  /// Linux moves at most 2 GiB, Darwin refuses more.
  var chunkSize = 64 << 20
}

extension Transfer {
  /// Makes calls until all bytes are moved, or one moves none, as at the end of a file.
  ///
  /// `move` makes one call, for so many bytes behind those that are done; it returns how many it
  /// moved, or -1 with the reason in `errno`. Returned is how many were moved in all.
  func run(_ move: (_ done: Int, _ count: Int) -> Int) throws(SystemError) -> Int {
    var done = 0
    while done < count {
      let moved = try uninterrupted(call, path) { move(done, min(count - done, chunkSize)) }
      // Asking again could go on for ever.
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
