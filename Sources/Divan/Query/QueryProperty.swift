/// A property that a query asks about: `$0.year` in `query.filter { $0.year > 1920 }`.
///
/// Comparisons make a ``Filter``. Which there are depends on the property's type, so that what cannot be run does not
/// compile.
@dynamicMemberLookup
public struct QueryProperty<PropertyValue>: Sendable {
  let path: QueryPath
  /// Why the property cannot be asked about, if it cannot.
  let refusal: QueryRefusal?

  init(_ path: QueryPath, refusal: QueryRefusal? = nil) {
    self.path = path
    self.refusal = refusal ?? (path.isTooLong ? QueryPath.tooLong : nil)
  }

  /// The filter of a test of the property.
  func test(_ test: FilterTest) -> Filter {
    guard let refusal else { return Filter(.test(path, test)) }
    return Filter(.refused(refusal.error))
  }

  /// The filter of a test with a constant, which may be none that can be stored.
  func test(_ constant: some Encodable, _ test: (Value) -> FilterTest) -> Filter {
    do throws(DatabaseError) {
      return self.test(test(try Value(queryConstant: constant)))
    } catch {
      return Filter(.refused(error))
    }
  }
}

/// Why something cannot be asked about: an object, since hardly anything has one, and all that queries are made of is copied.
final class QueryRefusal: Sendable {
  let error: DatabaseError

  init(_ error: DatabaseError) { self.error = error }
}

// MARK: - Ways on

extension QueryProperty {
  /// A property of the structure that is stored in this one.
  public subscript<Inner>(
    dynamicMember path: KeyPath<PropertyValue, Inner>
  ) -> QueryProperty<Inner> where PropertyValue: Codable {
    member(of: PropertyValue.self, path)
  }

  /// A property of the structure that is stored in this one, if there is one.
  public subscript<Wrapped: Codable, Inner>(
    dynamicMember path: KeyPath<Wrapped, Inner>
  ) -> QueryProperty<Inner> where PropertyValue == Wrapped? {
    member(of: Wrapped.self, path)
  }

  private func member<T: Codable, Inner>(
    of _: T.Type, _ path: KeyPath<T, Inner>
  ) -> QueryProperty<Inner> {
    if let refusal { return QueryProperty<Inner>(self.path, refusal: refusal) }
    do throws(DatabaseError) {
      return QueryProperty<Inner>(
        self.path.appending(.key(try CodableKeys.key(of: path, in: T.self))))
    } catch {
      return QueryProperty<Inner>(self.path, refusal: QueryRefusal(error))
    }
  }

  /// An element of an array, from 0 on; what is beyond its end is missing.
  public subscript(index: Int) -> QueryProperty<PropertyValue.QueryElement>
  where PropertyValue: QueryElements {
    QueryProperty<PropertyValue.QueryElement>(path.appending(.element(index)), refusal: refusal)
  }

  /// The value of a key of a dictionary.
  public subscript<Element>(key: String) -> QueryProperty<Element?>
  where PropertyValue == [String: Element] {
    QueryProperty<Element?>(path.appending(.key(key)), refusal: refusal)
  }
}

extension QueryProperty where PropertyValue == Value {
  /// A property within this one.
  public subscript(name: String) -> QueryProperty<Value> {
    QueryProperty(path.appending(.key(name)), refusal: refusal)
  }

  /// What is known of the document of the ID that this property holds.
  public var reference: QuerySubject<Document> {
    QuerySubject(path: path.appending(.reference), refusal: refusal)
  }

  /// Whether there is no such property at all; null is there.
  public var isMissing: Filter { test(.isMissing) }
}

// MARK: - Comparing

extension QueryProperty where PropertyValue: Encodable {
  /// Whether the property has this value; nil is what is null or missing.
  public static func == (property: Self, value: PropertyValue) -> Filter {
    property.test(value) { .equal($0) }
  }

  /// Whether it does not.
  public static func != (property: Self, value: PropertyValue) -> Filter { !(property == value) }

  /// Whether the property has one of these values.
  public func isIn(_ values: some Sequence<PropertyValue>) -> Filter {
    do throws(DatabaseError) {
      var stored: [Value] = []
      for value in values { stored.append(try Value(queryConstant: value)) }
      return test(.oneOf(stored))
    } catch {
      return Filter(.refused(error))
    }
  }
}

extension QueryProperty where PropertyValue: QueryOrdered {
  /// The values that the property is compared with.
  public typealias Constant = PropertyValue.QueryConstant

  /// Whether the property is less; texts by their bytes.
  public static func < (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.less, $0) }
  }

  /// Whether the property is less or equal; texts by their bytes.
  public static func <= (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.lessOrEqual, $0) }
  }

  /// Whether the property is greater; texts by their bytes.
  public static func > (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.greater, $0) }
  }

  /// Whether the property is greater or equal; texts by their bytes.
  public static func >= (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.greaterOrEqual, $0) }
  }

  /// Whether the property is in a range, without its end.
  public func isIn(_ range: Range<Constant>) -> Filter where Constant: Comparable {
    self >= range.lowerBound && self < range.upperBound
  }

  /// Whether the property is in a range.
  public func isIn(_ range: ClosedRange<Constant>) -> Filter where Constant: Comparable {
    self >= range.lowerBound && self <= range.upperBound
  }
}

extension QueryProperty where PropertyValue == Value {
  /// Whether the property is in a range, without its end.
  public func isIn<Bound: QueryOrdered & Comparable>(_ range: Range<Bound>) -> Filter {
    test(range.lowerBound) { .order(.greaterOrEqual, $0) }
      && test(range.upperBound) { .order(.less, $0) }
  }

  /// Whether the property is in a range.
  public func isIn<Bound: QueryOrdered & Comparable>(_ range: ClosedRange<Bound>) -> Filter {
    test(range.lowerBound) { .order(.greaterOrEqual, $0) }
      && test(range.upperBound) { .order(.lessOrEqual, $0) }
  }
}

extension QueryProperty where PropertyValue == Bool {
  /// Whether it is false; of a property that is not there, true.
  public static prefix func ! (property: Self) -> Filter { !(property == true) }
}

// MARK: - Texts

extension QueryProperty where PropertyValue: QueryText {
  /// Whether the text begins with another one.
  public func hasPrefix(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.beginning, text, differences))
  }

  /// Whether the text ends with another one.
  public func hasSuffix(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.end, text, differences))
  }

  /// Whether the text has another one in it.
  ///
  /// Costs time linear in the text's size, whatever is looked for.
  public func containsText(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.anywhere, text, differences))
  }

  /// Whether the text is another one, but for some differences.
  public func isLike(_ text: String, ignoring differences: TextDifferences) -> Filter {
    test(.text(.whole, text, differences))
  }

  /// Whether the whole text looks like a pattern, in which `*` stands for any text and `?` for any one Unicode scalar.
  ///
  /// Costs at most time linear in the size of the text times that of the pattern, which is 256 bytes at most. There are
  /// no regular expressions, since some take longer than anybody waits.
  public func matches(_ pattern: String, ignoring differences: TextDifferences = []) -> Filter {
    guard pattern.utf8.count <= TextMatcher.patternSizeLimit else {
      return Filter(
        .refused(
          DatabaseError(
            .invalidQuery, "a pattern has \(TextMatcher.patternSizeLimit) bytes at most",
            propertyPath: path.description)))
    }
    return test(.text(.pattern, pattern, differences))
  }
}

extension QueryProperty where PropertyValue == String {
  /// Whether the text has another one in it: ``containsText(_:ignoring:)``.
  public func contains(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    containsText(text, ignoring: differences)
  }
}

extension QueryProperty where PropertyValue == String? {
  /// Whether there is a text, and it has another one in it: ``containsText(_:ignoring:)``.
  public func contains(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    containsText(text, ignoring: differences)
  }
}

// MARK: - Elements

extension QueryProperty where PropertyValue: QueryElements {
  /// An element of the array, as conditions on elements see it.
  public typealias Element = QueryProperty<PropertyValue.QueryElement>

  /// Whether any element fulfils a condition; of a value that is no array, whether that does.
  public func contains(where condition: (Element) -> Filter) -> Filter {
    Filter(
      refusal.map { .refused($0.error) }
        ?? .anyElement(path, FilterExpression(ofElementsAt: path) { condition(Element($0)) }))
  }

  /// Whether all elements fulfil a condition, which those of an empty or missing array do.
  public func allSatisfy(_ condition: (Element) -> Filter) -> Filter {
    Filter(
      refusal.map { .refused($0.error) }
        ?? .everyElement(path, FilterExpression(ofElementsAt: path) { condition(Element($0)) }))
  }

  /// How many elements there are: none where the property is null or missing, and one of a value that is no array.
  public var count: QueryProperty<Int> {
    var path = path
    path.measure = .count
    return QueryProperty<Int>(path, refusal: refusal)
  }

  /// Whether there are no elements.
  public var isEmpty: Filter { count == 0 }
}

extension QueryProperty
where PropertyValue: QueryElements, PropertyValue.QueryElement: Encodable {
  /// Whether an element has this value.
  public func contains(_ element: PropertyValue.QueryElement) -> Filter {
    contains { $0 == element }
  }
}
