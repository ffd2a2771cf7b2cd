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
    guard size > 0, size <= IndexDefinitionRecord.nameSizeLimit else {
      throw refuse(
        "the name of an index has 1 to \(IndexDefinitionRecord.nameSizeLimit) bytes, and this one \(size)"
      )
    }
    guard !paths.isEmpty, paths.count <= IndexDefinitionRecord.propertyLimit else {
      throw refuse(
        "an index has 1 to \(IndexDefinitionRecord.propertyLimit) properties, and this one \(paths.count)"
      )
    }
    guard conditions.count <= IndexDefinitionRecord.conditionLimit else {
      throw refuse(
        "an index has at most \(IndexDefinitionRecord.conditionLimit) conditions, and this one "
          + "\(conditions.count)")
    }
    for path in paths + conditions.map(\.path) {
      guard !path.isEmpty, path.count <= IndexDefinitionRecord.pathLimit else {
        throw refuse(
          "the path of an index has 1 to \(IndexDefinitionRecord.pathLimit) names, and this one \(path.count)"
        )
      }
      guard path.allSatisfy({ $0.utf8.count <= IndexDefinitionRecord.pathNameSizeLimit }) else {
        throw refuse("a name in the path of an index is too long")
      }
    }
    for condition in conditions {
      guard let value = condition.test.value else { continue }
      let path = condition.path.joined(separator: ".")
      let stored: SharedBytes
      do throws(DatabaseError) {
        stored = try ValueCoding.encode(value)
      } catch {
        throw refuse("the condition on \(path.debugDescription) cannot be stored: \(error.message)")
      }
      if case .isIn(let values) = condition.test {
        guard (1...IndexDefinitionRecord.conditionValueLimit).contains(values.count) else {
          throw refuse(
            "a condition asks for one of 1 to \(IndexDefinitionRecord.conditionValueLimit) values, and the one for "
              + "\(path.debugDescription) has \(values.count)")
        }
        for value in values {
          guard try ValueCoding.encode(value).count <= IndexDefinitionRecord.conditionSizeLimit
          else {
            throw refuse(
              "each value in a condition has at most \(IndexDefinitionRecord.conditionSizeLimit) bytes, and one for "
                + "\(path.debugDescription) has more")
          }
        }
      }
      let limit = IndexDefinitionRecord.sizeLimit(ofConditionNumbered: condition.test.number)
      guard stored.count <= limit else {
        throw refuse(
          "the value in a condition has at most \(limit) bytes, and the one for "
            + "\(path.debugDescription) has \(stored.count)")
      }
    }
  }
}
