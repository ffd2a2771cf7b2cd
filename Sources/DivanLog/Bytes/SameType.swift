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

/// The value itself, under the name that its type has elsewhere.
///
/// - Precondition: both are the same type.
@inlinable
@inline(__always)
package func identical<T, U>(_ value: T, as _: U.Type) -> U {
  precondition(T.self == U.self, "A value of another type than is said")
  // The types were just found to be the same.
  return unsafe unsafeBitCast(value, to: U.self)
}
