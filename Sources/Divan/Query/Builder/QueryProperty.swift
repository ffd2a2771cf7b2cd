/// A property in the conditions of a query: `$0.year` in `query.filter { $0.year > 1920 }`.
///
/// ```swift
/// let query = Query<Film>().filter { film in
///   film.year > 1925 && film.title.hasPrefix("A") && film.cast.contains("Brigitte Helm")
/// }
/// ```
///
/// Comparisons return a ``Filter``. Which comparisons exist depends on the property's type, so that
/// a comparison that cannot be run does not compile.
@dynamicMemberLookup
public struct QueryProperty<PropertyValue>: Sendable {
  let path: QueryPath
  /// The reason why the property cannot be queried, or nil.
  let refusal: QueryRejection?
  /// The stored form of the value that the property of a model has if its document has none.
  let declared: Value?

  init(_ path: QueryPath, refusal: QueryRejection? = nil, declared: Value? = nil) {
    self.path = path
    self.declared = declared
    self.refusal = refusal ?? (path.isTooLong ? QueryPath.tooLong : nil)
  }

  /// Returns the filter for a test of the property.
  func test(_ test: ComparisonOperator) -> Filter {
    guard let refusal else { return Filter(.test(path, test)) }
    return Filter(.refused(refusal.error))
  }

  /// Returns the filter for a test with a constant; it is refused if the constant cannot be stored.
  func test(_ constant: some Encodable, _ test: (Value) -> ComparisonOperator) -> Filter {
    do throws(DatabaseError) {
      return self.test(test(try Value(queryConstant: constant)))
    } catch {
      return Filter(.refused(error))
    }
  }
}

// MARK: - Paths

extension QueryProperty {
  /// A property of the structure that is stored in this property.
  public subscript<Inner>(
    dynamicMember path: KeyPath<PropertyValue, Inner>
  ) -> QueryProperty<Inner> where PropertyValue: Codable {
    member(of: PropertyValue.self, path)
  }

  /// A property of the structure that is stored in this property, if there is one.
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
      return QueryProperty<Inner>(self.path, refusal: QueryRejection(error))
    }
  }

  /// An element of an array, from 0 on; elements beyond the end are missing.
  public subscript(index: Int) -> QueryProperty<PropertyValue.QueryElement>
  where PropertyValue: _QueryElements {
    QueryProperty<PropertyValue.QueryElement>(path.appending(.element(index)), refusal: refusal)
  }

  /// The value for a key of a dictionary.
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

  /// The document whose ID is the value of this property.
  public var reference: QuerySubject<Document> {
    QuerySubject(path: path.appending(.reference), refusal: refusal)
  }

  /// Whether the property does not exist; a property that is null exists.
  public var isMissing: Filter { test(.isMissing) }
}

extension QueryProperty {
  /// The same property, which is nil where a document has no value of its type.
  ///
  /// ```swift
  /// let names = try context.values(films) { $0.director.name.optional }
  /// ```
  public var optional: QueryProperty<PropertyValue?> {
    QueryProperty<PropertyValue?>(path, refusal: refusal)
  }
}

// MARK: - Comparing

extension QueryProperty where PropertyValue: Encodable {
  /// Whether the property equals a value; nil equals null and missing properties.
  public static func == (property: Self, value: PropertyValue) -> Filter {
    property.test(value) { .equal($0) }
  }

  /// Whether the property does not equal a value.
  public static func != (property: Self, value: PropertyValue) -> Filter { !(property == value) }

  /// Whether the property equals one of several values.
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

extension QueryProperty where PropertyValue: _QueryOrdered {
  /// The type of the values that the property is compared with.
  public typealias Constant = PropertyValue.QueryConstant

  /// Whether the property is less than a value; texts are compared by their bytes.
  public static func < (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.less, $0) }
  }

  /// Whether the property is at most a value; texts are compared by their bytes.
  public static func <= (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.lessOrEqual, $0) }
  }

  /// Whether the property is greater than a value; texts are compared by their bytes.
  public static func > (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.greater, $0) }
  }

  /// Whether the property is at least a value; texts are compared by their bytes.
  public static func >= (property: Self, value: Constant) -> Filter {
    property.test(value) { .order(.greaterOrEqual, $0) }
  }

  /// Whether the property is in a range, which excludes its upper bound.
  public func isIn(_ range: Range<Constant>) -> Filter where Constant: Comparable {
    self >= range.lowerBound && self < range.upperBound
  }

  /// Whether the property is in a range.
  public func isIn(_ range: ClosedRange<Constant>) -> Filter where Constant: Comparable {
    self >= range.lowerBound && self <= range.upperBound
  }
}

extension QueryProperty where PropertyValue == Value {
  /// Whether the property is in a range, which excludes its upper bound.
  public func isIn<Bound: _QueryOrdered & Comparable>(_ range: Range<Bound>) -> Filter {
    test(range.lowerBound) { .order(.greaterOrEqual, $0) }
      && test(range.upperBound) { .order(.less, $0) }
  }

  /// Whether the property is in a range.
  public func isIn<Bound: _QueryOrdered & Comparable>(_ range: ClosedRange<Bound>) -> Filter {
    test(range.lowerBound) { .order(.greaterOrEqual, $0) }
      && test(range.upperBound) { .order(.lessOrEqual, $0) }
  }
}

extension QueryProperty where PropertyValue == Bool {
  /// Whether the property is not true: this includes a missing property.
  public static prefix func ! (property: Self) -> Filter { !(property == true) }

  /// Returns a filter for documents whose property is true and that match a filter.
  public static func && (property: Self, filter: Filter) -> Filter { property == true && filter }

  /// Returns a filter for documents that match a filter and whose property is true.
  public static func && (filter: Filter, property: Self) -> Filter { filter && property == true }

  /// Returns a filter for documents whose properties are both true.
  public static func && (a: Self, b: Self) -> Filter { a == true && b == true }

  /// Returns a filter for documents whose property is true or that match a filter.
  public static func || (property: Self, filter: Filter) -> Filter { property == true || filter }

  /// Returns a filter for documents that match a filter or whose property is true.
  public static func || (filter: Filter, property: Self) -> Filter { filter || property == true }

  /// Returns a filter for documents with one of the properties true.
  public static func || (a: Self, b: Self) -> Filter { a == true || b == true }
}

// MARK: - Texts

extension QueryProperty where PropertyValue: _QueryText {
  /// Whether the text begins with another one.
  public func hasPrefix(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.beginning, text, differences))
  }

  /// Whether the text ends with another one.
  public func hasSuffix(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.end, text, differences))
  }

  /// Whether the text contains another one.
  ///
  /// It takes time linear in the text's size, whatever the other text is.
  public func containsText(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    test(.text(.anywhere, text, differences))
  }

  /// Whether the text equals another one, except for some differences.
  ///
  /// For example: `$0.title.equals("metropolis", ignoring: .letterCase)`.
  public func equals(_ text: String, ignoring differences: TextDifferences) -> Filter {
    test(.text(.whole, text, differences))
  }

  /// Whether the whole text matches a pattern: `*` is any text, and `?` is any one Unicode scalar.
  ///
  /// It takes at most time linear in the size of the text times that of the pattern, which is at
  /// most 256 bytes. Regular expressions are not supported, because some take too long.
  public func like(_ pattern: String, ignoring differences: TextDifferences = []) -> Filter {
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
  /// Whether the text contains another one: ``containsText(_:ignoring:)``.
  public func contains(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    containsText(text, ignoring: differences)
  }
}

extension QueryProperty where PropertyValue == String? {
  /// Whether there is a text that contains another one: ``containsText(_:ignoring:)``.
  public func contains(_ text: String, ignoring differences: TextDifferences = []) -> Filter {
    containsText(text, ignoring: differences)
  }
}

// MARK: - Elements

extension QueryProperty where PropertyValue: _QueryElements {
  /// An element of the array, in conditions on elements.
  public typealias Element = QueryProperty<PropertyValue.QueryElement>

  /// Whether any element meets a condition; a value that is not an array is its own only element.
  public func contains(where condition: (Element) -> Filter) -> Filter {
    Filter(
      refusal.map { .refused($0.error) }
        ?? .anyElement(path, FilterExpression(ofElementsAt: path) { condition(Element($0)) }))
  }

  /// Whether all elements meet a condition; true for an empty or missing array.
  public func allSatisfy(_ condition: (Element) -> Filter) -> Filter {
    Filter(
      refusal.map { .refused($0.error) }
        ?? .everyElement(path, FilterExpression(ofElementsAt: path) { condition(Element($0)) }))
  }

  /// The number of elements: 0 for null or a missing property, 1 for a value that is not an array.
  public var count: QueryProperty<Int> {
    var path = path
    path.measure = .count
    return QueryProperty<Int>(path, refusal: refusal)
  }

  /// Whether there are no elements.
  public var isEmpty: Filter { count == 0 }
}

extension QueryProperty
where PropertyValue: _QueryElements, PropertyValue.QueryElement: Encodable {
  /// Whether an element equals a value.
  public func contains(_ element: PropertyValue.QueryElement) -> Filter {
    contains { $0 == element }
  }
}
