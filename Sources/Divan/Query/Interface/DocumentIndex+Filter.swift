extension DocumentIndex {
  /// Creates the definition of a partial index: only documents that meet a condition are in it.
  ///
  /// ```swift
  /// DocumentIndex("open by date", on: "due") { $0["done"] == false && $0["due"] != .null }
  /// ```
  ///
  /// The condition consists of comparisons of properties with constants, joined with `&&`: `==`,
  /// `!= .null`, `<`, `<=`, `>`, `>=`, `isIn` with values, and `hasPrefix`. They have the same
  /// meaning as in a query. If it has anything else, ``Database/addIndex(_:progress:)-9g191``
  /// throws ``DatabaseError/Code/invalidIndex``.
  ///
  /// The condition is stored with the index, so it compares with constants, not with the current
  /// time. A value in it has at most 1,000 bytes in its stored form. `isIn` takes 1 to 256 values,
  /// which have at most 16,000 bytes together.
  ///
  /// - Parameters:
  ///   - name: The name of the index: 1 to 240 bytes of UTF-8.
  ///   - properties: The paths to 1 to 8 properties, the most significant first.
  ///   - isUnique: Whether no two documents that meet the condition may have the same values.
  ///   - eachElement: Whether each element of an array has an entry.
  ///   - condition: The condition for documents to be in the index; at most 16 comparisons.
  public init(
    _ name: String, on properties: String..., isUnique: Bool = false, eachElement: Bool = false,
    where condition: (QuerySubject<Document>) -> Filter
  ) {
    self.init(
      name, paths: properties.map(DocumentIndex.names(inPath:)), isUnique: isUnique,
      eachElement: eachElement, where: condition)
  }

  /// Creates the definition of a partial index of one property, with the names in its path.
  public init(
    _ name: String, path: [String], isUnique: Bool = false, eachElement: Bool = false,
    where condition: (QuerySubject<Document>) -> Filter
  ) {
    self.init(name, paths: [path], isUnique: isUnique, eachElement: eachElement, where: condition)
  }

  /// Creates the definition of a partial index of several properties, with the names in their
  /// paths.
  public init(
    _ name: String, paths: [[String]], isUnique: Bool = false, eachElement: Bool = false,
    where condition: (QuerySubject<Document>) -> Filter
  ) {
    do throws(DatabaseError) {
      self.init(
        name, paths: paths, isUnique: isUnique, eachElement: eachElement,
        where: try condition(QuerySubject()).expression.indexConditions())
    } catch {
      self.init(name, paths: paths, isUnique: isUnique, eachElement: eachElement)
      refusal = error
    }
  }

  /// Creates the definition of a full-text index of the documents that meet a condition.
  ///
  /// ```swift
  /// DocumentIndex("recipes", fullText: "name", "steps") { $0["type"] == "Recipe" }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the index: 1 to 240 bytes of UTF-8.
  ///   - properties: The paths to 1 to 8 properties.
  ///   - options: How text becomes terms, and how much each property counts.
  ///   - condition: The condition for documents to be in the index, as for other partial indexes.
  public init(
    _ name: String, fullText properties: String..., options: FullTextOptions = FullTextOptions(),
    where condition: (QuerySubject<Document>) -> Filter
  ) {
    let paths = properties.map(DocumentIndex.names(inPath:))
    do throws(DatabaseError) {
      self.init(
        name, fullTextPaths: paths, options: options,
        where: try condition(QuerySubject()).expression.indexConditions())
    } catch {
      self.init(name, fullTextPaths: paths, options: options, where: [])
      refusal = error
    }
  }
}

extension FilterExpression {
  /// Returns the conditions of a partial index that contains the documents that match the filter.
  func indexConditions() throws(DatabaseError) -> [IndexCondition] {
    if let refusal { throw refusal }
    var conditions: [IndexCondition] = []
    for part in conjuncts {
      guard let condition = part.indexCondition else {
        throw DatabaseError(
          .invalidIndex, "an index does not support the condition \(part)",
          hint: "Compare properties with constants or null, and join the comparisons with &&")
      }
      conditions.append(condition)
    }
    return conditions
  }

  /// The equivalent condition of a partial index; nil if there is none.
  private var indexCondition: IndexCondition? {
    switch self {
    case .not(.test(let path, .equal(.null))):
      path.keys.map { IndexCondition(path: $0, .isPresent) }
    case .test(let path, let test):
      if let keys = path.keys, let test = test.indexTest {
        IndexCondition(path: keys, test)
      } else {
        nil
      }
    default: nil
    }
  }
}

extension ComparisonOperator {
  fileprivate var indexTest: IndexCondition.Test? {
    switch self {
    case .equal(let value): .equal(value)
    case .order(.less, let value): .less(value)
    case .order(.lessOrEqual, let value): .lessOrEqual(value)
    case .order(.greater, let value): .greater(value)
    case .order(.greaterOrEqual, let value): .greaterOrEqual(value)
    case .oneOf(let values): .isIn(values)
    case .text(.beginning, let text, []): .hasPrefix(text)
    case .text, .isMissing: nil
    }
  }
}
