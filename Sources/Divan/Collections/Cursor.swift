/// Elements that are read one after the other, where reading can fail.
///
/// A cursor is used like an iterator, except that ``next()`` can throw:
///
/// ```swift
/// var films = snapshot.documents(.prefix("film:"))
/// while let film = try films.next() { print(film.id) }
/// ```
///
/// You can also derive another cursor, and collect what it returns:
///
/// ```swift
/// let titles = try snapshot.documents(.prefix("film:"))
///   .compactMap { $0["title"]?.stringValue }
///   .prefix(10)
///   .collect()
/// ```
///
/// A derived cursor reads nothing until its `next()` is called, and then no more than it needs. A
/// cursor is a value: a copy continues by itself from where the original was. It is not a
/// `Sequence`, whose iterators cannot report that an element cannot be read.
///
/// If `next()` throws because one element is damaged, the call after that continues after it,
/// unless the cursor's type says otherwise.
public protocol Cursor<Element> {
  /// The type of the elements.
  associatedtype Element

  /// Returns the next element; nil at the end.
  mutating func next() throws -> Element?
}

extension Cursor {
  /// Returns the remaining elements as an array.
  ///
  /// - Throws: The error of the first element that cannot be read.
  public consuming func collect() throws -> [Element] {
    var all: [Element] = []
    while let element = try next() { all.append(element) }
    return all
  }

  /// Calls a closure with each of the remaining elements.
  ///
  /// - Throws: The first error of reading or of `body`, which ends the iteration.
  public consuming func forEach(_ body: (Element) throws -> Void) throws {
    while let element = try next() { try body(element) }
  }

  /// Returns a cursor over what a closure makes of the elements.
  public consuming func map<T>(
    _ transform: @escaping (Element) throws -> T
  ) -> some Cursor<T> {
    DerivedCursor(base: self) { try transform($0) }
  }

  /// Returns a cursor over what a closure makes of the elements, without those of which it makes
  /// nil.
  public consuming func compactMap<T>(
    _ transform: @escaping (Element) throws -> T?
  ) -> some Cursor<T> {
    DerivedCursor(base: self, transform: transform)
  }

  /// Returns a cursor over the elements that meet a condition.
  public consuming func filter(
    _ isIncluded: @escaping (Element) throws -> Bool
  ) -> some Cursor<Element> {
    DerivedCursor(base: self) { try isIncluded($0) ? $0 : nil }
  }

  /// Returns a cursor over no more than the next `maxLength` elements.
  public consuming func prefix(_ maxLength: Int) -> some Cursor<Element> {
    PrefixCursor(base: self, leftCount: max(0, maxLength))
  }
}

/// A cursor over what a closure makes of the elements of another one.
private struct DerivedCursor<Base: Cursor, Element>: Cursor {
  var base: Base
  let transform: (Base.Element) throws -> Element?

  mutating func next() throws -> Element? {
    while let element = try base.next() {
      if let result = try transform(element) { return result }
    }
    return nil
  }
}

/// A cursor over the first elements of another one.
private struct PrefixCursor<Base: Cursor>: Cursor {
  var base: Base
  /// The number of elements to return, at most.
  var leftCount: Int

  mutating func next() throws -> Base.Element? {
    guard leftCount > 0 else { return nil }
    let element = try base.next()
    leftCount = element == nil ? 0 : leftCount - 1
    return element
  }
}
