import DivanLog

extension FullTextIndex {
  func measure(_ view: ReadView, progress: (Int) -> Void) throws(DatabaseError) -> IndexMeasure {
    var measure = IndexMeasure(index: definition.index)
    let terms = StoredTerms(definition, in: view)
    let prefix = terms.tables.keys.prefix
    var scan = view.state.texts.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    while let item = try view.step(&scan) { measure.size += item.key.count + item.value.count }
    var reader = StoredTermReader(terms)
    while let entry = try reader.next() {
      measure.distinctCount += 1
      measure.entryCount += entry.documentCount
      if measure.distinctCount.isMultiple(of: 4096) { progress(measure.entryCount) }
    }
    return measure
  }
}
