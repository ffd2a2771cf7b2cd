import DivanLog

/// An index in a version of the store.
///
/// It is an immutable object because versions, plans and cursors share it.
final class IndexDefinition: Sendable {
  let index: DocumentIndex
  /// The number that its entries begin with: the number of the commit that created the index.
  ///
  /// No other index ever has this number, so leftover entries of a removed index never count as
  /// entries of another.
  let number: UInt64
  /// Whether every document has its entries.
  let isReady: Bool
  /// The prefix of the keys of its entries.
  let keyPrefix: [UInt8]
  /// What makes terms of documents; nil if the index has entries with values.
  let analyser: TextAnalyser?

  init(index: DocumentIndex, number: UInt64, isReady: Bool) {
    analyser = index.fullText.map { TextAnalyser(index, $0) }
    self.index = index
    self.number = number
    self.isReady = isReady
    keyPrefix = IndexEntries.prefix(number)
  }
}

extension IndexDefinition {
  /// Whether this index has the entries of another one: it is the same, or has other weights.
  func hasEntries(of other: IndexDefinition) -> Bool {
    number == other.number && (index == other.index || index.hasSameTerms(as: other.index))
  }
}

extension IndexDefinition: Equatable {
  /// Whether both describe the same state of the same index.
  static func == (a: IndexDefinition, b: IndexDefinition) -> Bool {
    a === b || a.number == b.number && a.isReady == b.isReady && a.index == b.index
  }
}
