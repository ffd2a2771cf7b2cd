/// Whether two arrays share their storage, so that their elements need no comparison.
@inlinable
@inline(__always)
package func haveSameStorage<Element>(_ a: [Element], _ b: [Element]) -> Bool {
  // Only the addresses are compared; nothing is read through them.
  unsafe a.withUnsafeBufferPointer { a in
    unsafe b.withUnsafeBufferPointer { b in
      unsafe a.baseAddress == b.baseAddress && a.count == b.count
    }
  }
}
