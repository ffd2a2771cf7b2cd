/// Scores documents by how well they match, with BM25 over several weighted properties.
///
/// A part of the query is a word, a phrase or all terms of a prefix. The score is the sum over the
/// parts of
///
/// ```
/// ln(1 + (documents − d + ½) / (d + ½)) · f · (k₁ + 1) / (f + k₁)
/// f = Σ weight · count / (1 − b + b · length / average length)      over the properties
/// ```
///
/// where *d* is the number of documents with the part, and *length* the number of words of the
/// property. This is BM25F (Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25
/// and Beyond*, 2009), which is BM25 if there is one property. The logarithm is positive for every
/// part, so that more matches never make a score smaller.
struct RelevanceRanking {
  /// How much more than once counts: 0 counts once only.
  private static let saturation = 1.2
  /// How much long texts are discounted, 0 to 1.
  private static let lengthDiscount = 0.75

  /// The weight of each property.
  let weights: [Double]
  private let averageLengths: [Double]
  private let partWeights: [Double]
  /// The weight of a term in each property, for each length below ``knownLengths``.
  private var factors: [Double] = []

  private static let knownLengths = 256

  /// Creates the ranking of one query.
  ///
  /// `partCounts` has the number of documents with each part of the query, for which estimates will
  /// do. `averageLengths` has the number of words of each property, in the documents that have it:
  /// a title that few documents have is not a long one. `weights` has its weight, which is not
  /// negative.
  init(
    documentCount: Int, partCounts: [Int], averageLengths: [Double], weights: [Double]
  ) {
    precondition(weights.count == averageLengths.count, "a weight for each property")
    self.weights = weights
    self.averageLengths = averageLengths.map { max($0, 1) }
    partWeights = partCounts.map { count in
      let count = Double(min(max(count, 0), documentCount))
      return naturalLogarithm(1 + (Double(documentCount) - count + 0.5) / (count + 0.5))
    }
    for field in weights.indices {
      for length in 0..<RelevanceRanking.knownLengths { factors.append(makeFactor(field, length)) }
    }
  }

  /// The score of a document, whose numbers of words in each property are in `lengths` from `start`
  /// on.
  func score(_ frequencies: TermFrequencies, _ lengths: [Int], at start: Int = 0) -> Double {
    var score = 0.0
    for part in partWeights.indices {
      score += self.score(ofPart: part, frequency(of: part, frequencies, lengths, at: start))
    }
    return score
  }

  /// The frequency of a part in a document, in all properties with their weights and lengths.
  ///
  /// The greater it is, the greater is the score of the part.
  func frequency(
    of part: Int, _ frequencies: TermFrequencies, _ lengths: [Int], at start: Int
  ) -> Double {
    var frequency = 0.0
    for field in weights.indices {
      let count = frequencies[part, field]
      if count > 0 { frequency += Double(count) * factor(field, lengths[start + field]) }
    }
    return frequency
  }

  /// The greatest frequency of a part in a document that has it once.
  var greatestFrequencyOfOne: Double {
    weights.indices.reduce(0) { max($0, factor($1, 1)) }
  }

  /// The frequency of a part that occurs in a document as often as its counts say.
  func frequency(
    _ counts: Span<UInt8>, _ lengths: [Int], at start: Int
  ) -> Double {
    var frequency = 0.0
    for field in weights.indices {
      let count = counts[field]
      if count > 0 { frequency += Double(count) * factor(field, lengths[start + field]) }
    }
    return frequency
  }

  /// The greatest frequency of a part with some counts: that of the shortest properties.
  ///
  /// A property has at least as many words as the part occurs in it.
  func greatestFrequency(_ counts: Span<UInt8>) -> Double {
    var frequency = 0.0
    for field in weights.indices {
      let count = Int(counts[field])
      if count > 0 { frequency += Double(count) * factor(field, count) }
    }
    return frequency
  }

  /// The weight of a term in a property with some words.
  private func factor(_ field: Int, _ length: Int) -> Double {
    length < RelevanceRanking.knownLengths
      ? factors[field * RelevanceRanking.knownLengths + length] : makeFactor(field, length)
  }

  private func makeFactor(_ field: Int, _ length: Int) -> Double {
    weights[field]
      / (1 - Self.lengthDiscount + Self.lengthDiscount * Double(length) / averageLengths[field])
  }

  /// The score of a part with a frequency.
  func score(ofPart part: Int, _ frequency: Double) -> Double {
    guard frequency > 0 else { return 0 }
    return partWeights[part] * frequency * (Self.saturation + 1) / (frequency + Self.saturation)
  }
}
