/// Returns `value` as a `U` if its static type is exactly that; nil otherwise.
///
/// Takes a nanosecond where `as?` takes tens, which matters because every property of every
/// document passes through here.
@inlinable
@inline(__always)
package func same<T, U>(_ value: T, as _: U.Type) -> U? {
  guard T.self == U.self else { return nil }
  // Both are the same type, so their bits are the same.
  return unsafe unsafeBitCast(value, to: U.self)
}

/// Returns the value itself, under another name of its type.
///
/// - Precondition: both are the same type.
@inlinable
@inline(__always)
package func identical<T, U>(_ value: T, as _: U.Type) -> U {
  precondition(T.self == U.self, "The value is of another type")
  // The precondition guarantees that the types are the same.
  return unsafe unsafeBitCast(value, to: U.self)
}
