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
/// property. This is BM25F (Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and
/// Beyond*, 2009), which is BM25 if there is one property. The logarithm is positive for every part,
/// so that more matches never make a score smaller.
struct RelevanceRanking {
  /// How much more than once counts: 0 counts once only.
  static let defaultSaturation = 1.2
  /// How much long texts are discounted, 0 to 1.
  static let defaultLengthDiscount = 0.75

  /// The weight of each property.
  let weights: [Double]
  private let averageLengths: [Double]
  private let partWeights: [Double]
  private let saturation: Double
  private let lengthDiscount: Double

  /// Creates the ranking of one query.
  ///
  /// `partCounts` has the number of documents with each part of the query, for which estimates will
  /// do. `totalLengths` has the number of words of each property in all documents, and `weights` its
  /// weight, which is not negative.
  init(
    documentCount: Int, partCounts: [Int], totalLengths: [Int], weights: [Double],
    saturation: Double = defaultSaturation, lengthDiscount: Double = defaultLengthDiscount
  ) {
    precondition(weights.count == totalLengths.count, "a weight for each property")
    self.weights = weights
    (self.saturation, self.lengthDiscount) = (saturation, lengthDiscount)
    averageLengths = totalLengths.map { Double(max($0, 1)) / Double(max(documentCount, 1)) }
    partWeights = partCounts.map { count in
      let count = Double(min(max(count, 0), documentCount))
      return naturalLogarithm(1 + (Double(documentCount) - count + 0.5) / (count + 0.5))
    }
  }

  /// The score of a document; `lengths` has the number of words of each property.
  func score(_ frequencies: TermFrequencies, lengths: [Int]) -> Double {
    var score = 0.0
    for part in partWeights.indices {
      var frequency = 0.0
      for field in weights.indices where frequencies[part, field] > 0 {
        let share = Double(lengths[field]) / averageLengths[field]
        frequency +=
          weights[field] * Double(frequencies[part, field])
          / (1 - lengthDiscount + lengthDiscount * share)
      }
      guard frequency > 0 else { continue }
      score += partWeights[part] * frequency * (saturation + 1) / (frequency + saturation)
    }
    return score
  }
}
