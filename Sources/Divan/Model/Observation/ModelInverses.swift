import DivanLog

// Looking up the models that refer to another one.

extension InverseRelation {
  /// The index of all documents by the targets of the property.
  var index: DocumentIndex {
    let key = property.key
    return DocumentIndex("reference:\(key)", paths: [[key]], eachElement: true)
  }

  /// Whether a model refers to a document.
  func refers(_ model: Model, to target: DocumentKey) -> Bool {
    model.modelClass.properties[property.location.index].references(in: model)
      .contains { $0.key == target }
  }

  /// Whether the references of a model may differ from those in its document.
  func isUnsaved(_ model: Model) -> Bool {
    model.state == .new || property.isDirty(in: model)
  }
}
