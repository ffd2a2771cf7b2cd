import Divan

/// Reads a selector from JSON.
///
/// It refuses what CouchDB refuses.
enum SelectorParser {
  /// Returns the condition of a selector; nil if it is empty.
  static func condition(
    of value: Value, _ matching: PatternMatching
  ) throws(ReplicationError) -> SelectorCondition? {
    let place = Place(matching: matching)
    guard let members = value.objectValue else {
      throw place.error("a selector is an object, not \(value.excerpt)")
    }
    guard !members.isEmpty else { return nil }
    let condition = try place.condition(value).rewritten
    guard !condition.lacksField else {
      throw place.error("a condition needs the name of a property: {\"name\": \(value.excerpt)}")
    }
    return condition
  }
}

/// A place in a selector.
private struct Place {
  let matching: PatternMatching
  /// Names and operators that lead here, without the indexes of elements.
  var path: [String] = []
  /// The number of names since the document, or since the element that is tested.
  var fieldCount = 0
  /// The order of comparisons here.
  var order = CouchDBOrder.collated
  /// The order of comparisons of the element that is tested.
  var elementOrder = CouchDBOrder.collated

  init(matching: PatternMatching) { self.matching = matching }

  func error(_ message: String) -> ReplicationError {
    let place = path.isEmpty ? "" : " at \(path.map { $0.shortened }.joined(separator: " › "))"
    return ReplicationError(.invalidSelector, "the selector is invalid\(place): \(message)")
  }

  /// Returns the place below a name or an operator.
  func below(_ name: String) throws(ReplicationError) -> Place {
    var place = self
    place.path.append(name)
    guard place.path.count <= MangoSelector.depthLimit else {
      throw ReplicationError(
        .invalidSelector,
        "the selector is invalid: it is nested more than \(MangoSelector.depthLimit) levels deep")
    }
    return place
  }

  /// Returns the place of the conditions on the elements of a value here.
  func ofElements() -> Place {
    var place = self
    (place.fieldCount, place.elementOrder) = (0, order)
    return place
  }
}

// MARK: - Conditions

extension Place {
  func condition(_ value: Value) throws(ReplicationError) -> SelectorCondition {
    guard let members = value.objectValue, !members.isEmpty else {
      return .test(.comparison(.equal, try argument(value), order))
    }
    if members.count == 1 { return try condition(members[0].key, members[0].value) }
    var conditions: [SelectorCondition] = []
    for (name, value) in members { conditions.append(try condition(name, value)) }
    return .all(conditions)
  }

  private func condition(
    _ name: String, _ value: Value
  ) throws(ReplicationError) -> SelectorCondition {
    let place = try below(name)
    switch name {
    case "$and": return .all(try place.conditions(value))
    case "$or": return .any(try place.conditions(value))
    case "$nor": return .none(try place.conditions(value))
    case "$not": return .not(try place.condition(try place.object(value)))
    case _ where name.utf8.first == UInt8(ascii: "$"): return .test(try place.test(name, value))
    default: return try place.field(try names(in: name), value)
    }
  }

  private func conditions(_ value: Value) throws(ReplicationError) -> [SelectorCondition] {
    var conditions: [SelectorCondition] = []
    for element in try array(value) { conditions.append(try condition(element)) }
    return conditions
  }

  private func field(
    _ names: [String], _ value: Value
  ) throws(ReplicationError) -> SelectorCondition {
    var place = self
    place.fieldCount += names.count
    // Identifiers are compared by their bytes.
    place.order = place.fieldCount == 1 && names == ["_id"] ? .raw : elementOrder
    return .field(names, try place.condition(value))
  }

  /// Returns the names that a path consists of.
  ///
  /// A backslash escapes a dot. CouchDB removes all others, too.
  private func names(in path: String) throws(ReplicationError) -> [String] {
    var names: [String] = []
    var name = String.UnicodeScalarView()
    var (isEscaped, isEmpty) = (false, true)
    for scalar in path.unicodeScalars {
      if scalar == ".", !isEscaped {
        guard !isEmpty else { break }
        names.append(String(name))
        (name, isEmpty) = (String.UnicodeScalarView(), true)
        continue
      }
      (isEscaped, isEmpty) = (scalar == "\\", false)
      if !isEscaped { name.append(scalar) }
    }
    guard !isEmpty else {
      throw error("a name in the path \(Value.string(path).excerpt) is empty")
    }
    return names + [String(name)]
  }
}

// MARK: - Tests

extension Place {
  private func test(_ name: String, _ value: Value) throws(ReplicationError) -> SelectorTest {
    if let comparison = SelectorTest.Comparison(rawValue: name) {
      return .comparison(comparison, try argument(value), order)
    }
    switch name {
    case "$in": return .isIn(SelectorCandidates(try array(try argument(value)), order))
    case "$nin": return .isNotIn(SelectorCandidates(try array(try argument(value)), order))
    case "$all": return .containsAll(try array(try argument(value)))
    case "$elemMatch": return .anyElement(try ofElements().condition(try object(value)))
    case "$allMatch": return .allElements(try ofElements().condition(try object(value)))
    case "$keyMapMatch": return .anyKey(try ofElements().condition(try object(value)))
    case "$exists":
      guard let flag = value.boolValue else { throw needs("true or false", value) }
      return .exists(flag)
    case "$type": return .type(try text(value))
    case "$beginsWith": return .prefix(try text(value))
    case "$regex": return .pattern(try pattern(try text(value)))
    case "$size":
      guard let count = value.intValue, count >= 0 else {
        throw needs("a whole number that is not negative", value)
      }
      return .size(count)
    case "$mod": return try remainder(value)
    case "$text", "$default":
      throw error("a full-text search needs an index, and a filter has none")
    case "$where", "$geoWithin", "$geoIntersects", "$near", "$nearSphere":
      throw error("CouchDB does not support this operator")
    default: throw error("this is no operator of CouchDB")
    }
  }

  private func remainder(_ value: Value) throws(ReplicationError) -> SelectorTest {
    guard let numbers = value.arrayValue, numbers.count == 2, let divisor = numbers[0].wholeNumber,
      let remainder = numbers[1].wholeNumber
    else { throw needs("an array of two whole numbers, divisor and remainder", value) }
    guard divisor != 0 else { throw error("the divisor is 0") }
    return .remainder(divisor: divisor, remainder)
  }

  private func pattern(_ text: String) throws(ReplicationError) -> SelectorPattern {
    do {
      return try SelectorPattern(text, matching)
    } catch {
      throw self.error("the regular expression is invalid: \(error)")
    }
  }
}

// MARK: - Arguments

extension Place {
  private func needs(_ argument: String, _ value: Value) -> ReplicationError {
    error("the operator needs \(argument), and has \(value.excerpt)")
  }

  private func array(_ value: Value) throws(ReplicationError) -> [Value] {
    guard let elements = value.arrayValue else { throw needs("an array", value) }
    return elements
  }

  private func object(_ value: Value) throws(ReplicationError) -> Value {
    guard value.objectValue != nil else { throw needs("an object with conditions", value) }
    return value
  }

  private func text(_ value: Value) throws(ReplicationError) -> String {
    guard let text = value.stringValue else { throw needs("a string", value) }
    return text
  }

  /// Returns a value that is compared, after checking its depth: comparisons recurse.
  private func argument(_ value: Value) throws(ReplicationError) -> Value {
    switch value {
    case .array(let elements):
      let place = try below("…")
      for element in elements { _ = try place.argument(element) }
    case .object(let members):
      let place = try below("…")
      for member in members.values { _ = try place.argument(member) }
    case .null, .bool, .int, .unsigned, .double, .string: break
    }
    return value
  }
}

extension Value {
  /// The beginning of the JSON text.
  fileprivate var excerpt: String { json.shortened }
}

extension String {
  /// The text, or its beginning if it is long.
  fileprivate var shortened: String {
    utf8.count <= 60 ? self : String(decoding: utf8.prefix(57), as: UTF8.self) + "…"
  }
}
