import DivanLog

extension DocumentIndex {
  /// Throws if the index definition is not valid.
  func validate(_ storePath: String) throws(DatabaseError) {
    func refuse(_ what: String) -> DatabaseError {
      DatabaseError(.invalidIndex, what, path: storePath)
    }
    if let refusal {
      throw DatabaseError(
        .invalidIndex,
        "the index \(name.debugDescription) cannot be built: \(refusal.message)",
        hint: refusal.hint, path: storePath)
    }
    let size = name.utf8.count
    guard size > 0, size <= IndexLimits.nameSizeLimit else {
      throw refuse(
        "the name of an index has 1 to \(IndexLimits.nameSizeLimit) bytes, and this one \(size)"
      )
    }
    guard !paths.isEmpty, paths.count <= IndexLimits.propertyLimit else {
      throw refuse(
        "an index has 1 to \(IndexLimits.propertyLimit) properties, and this one \(paths.count)"
      )
    }
    guard conditions.count <= IndexLimits.conditionLimit else {
      throw refuse(
        "an index has at most \(IndexLimits.conditionLimit) conditions, and this one "
          + "\(conditions.count)")
    }
    for path in paths + conditions.map(\.path) {
      guard !path.isEmpty, path.count <= IndexLimits.pathLimit else {
        throw refuse(
          "the path of an index has 1 to \(IndexLimits.pathLimit) names, and this one \(path.count)"
        )
      }
      guard path.allSatisfy({ $0.utf8.count <= IndexLimits.pathNameSizeLimit }) else {
        throw refuse("a name in the path of an index is too long")
      }
    }
    for condition in conditions {
      if let problem = condition.problem { throw refuse(problem) }
    }
    try validateTextFields(storePath)
    if let problem = repeatedTextProblem ?? weightProblem { throw refuse(problem) }
  }

  /// Throws if a full-text index names the text of attachments as a property.
  private func validateTextFields(_ storePath: String) throws(DatabaseError) {
    guard fullText != nil,
      paths.contains(where: { haveSameNames($0, DocumentIndex.attachmentsPath) })
    else { return }
    throw DatabaseError(
      .invalidIndex,
      "\(FullTextOptions.attachmentsName.debugDescription) is not a property of documents",
      hint: "Set `FullTextOptions.includesAttachments` to index the text of attachments",
      path: storePath)
  }

  /// The reason why the properties of a full-text index cannot be told apart; nil if they can.
  private var repeatedTextProblem: String? {
    guard fullText != nil else { return nil }
    for (index, path) in paths.enumerated() {
      guard paths[..<index].contains(where: { haveSameNames($0, path) }) else { continue }
      let subject = path.joined(separator: ".").debugDescription
      return "a full-text index has each property once, and \(subject) is there twice"
    }
    return nil
  }

  /// The greatest weight of a property: sums of scores stay finite and exact enough to compare.
  private static let weightLimit = 1e6

  /// The reason why the weights of a full-text index cannot be used; nil if they can.
  private var weightProblem: String? {
    guard let fullText else { return nil }
    let names = textFieldNames
    for (name, weight) in fullText.weights.sorted(by: { compareUTF8($0.key, $1.key) < 0 }) {
      let subject = name.debugDescription
      guard names.contains(where: { haveSameUTF8($0, name) }) else {
        let known = names.map(\.debugDescription).joined(separator: ", ")
        return
          "there is a weight for \(subject), which is no property of the index; it has \(known)"
      }
      guard weight.isFinite, weight >= 0 else {
        return "a weight is finite and not negative, and that of \(subject) is \(weight)"
      }
      guard weight <= DocumentIndex.weightLimit else {
        return "a weight is at most 1,000,000, and that of \(subject) is \(weight)"
      }
    }
    return nil
  }
}

extension IndexCondition {
  /// The reason why the condition cannot be stored; nil if it can.
  fileprivate var problem: String? {
    guard let value = test.value else { return nil }
    let subject = path.joined(separator: ".").debugDescription
    let size: Int
    do throws(DatabaseError) {
      size = try ValueEncoder.encode(value).count
    } catch {
      return "the condition on \(subject) cannot be stored: \(error.message)"
    }
    if case .isIn(let values) = test {
      guard (1...IndexLimits.conditionValueLimit).contains(values.count) else {
        let limit = IndexLimits.conditionValueLimit
        return "a condition asks for one of 1 to \(limit) values, and the one for \(subject) has "
          + "\(values.count)"
      }
      let isTooLarge = values.contains {
        let size = (try? ValueEncoder.encode($0))?.count ?? .max
        return size > IndexLimits.conditionSizeLimit
      }
      if isTooLarge {
        return "each value in a condition has at most \(IndexLimits.conditionSizeLimit) "
          + "bytes, and one for \(subject) has more"
      }
    }
    let limit = IndexLimits.sizeLimit(ofConditionNumbered: test.number)
    guard size <= limit else {
      return "the value in a condition has at most \(limit) bytes, and the one for \(subject) has "
        + "\(size)"
    }
    return nil
  }
}
