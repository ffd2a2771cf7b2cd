/// `value` as a `U`, if that is what it is; nil for a subclass and for anything else.
///
/// Takes a nanosecond where `as?` takes tens, which counts where every property of every document
/// passes.
@inlinable
@inline(__always)
package func same<T, U>(_ value: T, as _: U.Type) -> U? {
  guard T.self == U.self else { return nil }
  // Both are the same type, so every bit of one is the same bit of the other.
  return unsafe unsafeBitCast(value, to: U.self)
}
