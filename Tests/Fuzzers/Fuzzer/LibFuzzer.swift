import Foundation
import FuzzTargets

// The functions that libFuzzer calls, and two of its own.

@_silgen_name("LLVMFuzzerRunDriver")
private func runLibFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

extension Fuzzer {
  /// Runs libFuzzer with the arguments of the process, until it ends.
  static func main() {
    var (count, arguments) = unsafe (CommandLine.argc, CommandLine.unsafeArgv)
    exit(unsafe runLibFuzzer(&count, &arguments, testOneInput))
  }
}

@_silgen_name("LLVMFuzzerMutate")
private func libFuzzerMutate(
  _ bytes: UnsafeMutablePointer<UInt8>?, _ size: Int, _ limit: Int
) -> Int

/// Called once, before the corpus is read.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<CInt>?,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
  Fuzzer.writeSeeds()
  return 0
}

/// Called with each input.
private func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  Fuzzer.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: size)))
  return 0
}

/// Called to change an input in place; returns its new size, which is at most `limit`.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(
  _ bytes: UnsafeMutablePointer<UInt8>?, _ size: Int, _ limit: Int, _ seed: UInt32
) -> Int {
  let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: size))
  var mutation = Mutation(seed: UInt64(seed)) { part, limit in
    guard limit > 0 else { return }
    let count = part.count
    if part.count < limit { part += [UInt8](repeating: 0, count: limit - count) }
    // libFuzzer writes at most `limit` bytes, and the array has as many.
    let changed = unsafe part.withUnsafeMutableBufferPointer {
      unsafe libFuzzerMutate($0.baseAddress, count, limit)
    }
    part.removeLast(part.count - changed)
  }
  let output = mutation.mutate(input, as: Fuzzer.target, limit: limit)
  guard let bytes = unsafe bytes else { return 0 }
  for (index, byte) in output.enumerated() { unsafe bytes[index] = byte }
  return output.count
}
