import DivanLog

extension Snapshot {
  /// Returns words of a full-text index near another word, for “did you mean”.
  ///
  /// ```swift
  /// let words = try snapshot.suggestions(for: "metropols", index: "text")  // ["metropolis"]
  /// ```
  ///
  /// They differ from the word in one or two letters, which are added, removed or replaced; words
  /// of up to three letters in one. Words with fewer differences come first, then those in more
  /// documents. They are in small letters. Costs a search among the words of the index, which skips
  /// most of them; with stemming, also a read of a few documents for each word.
  ///
  /// - Parameters:
  ///   - word: One word.
  ///   - index: The name of a full-text index.
  ///   - limit: How many words to return at most.
  /// - Returns: The words; the word itself is not among them.
  /// - Throws: ``DatabaseError/Code/notFound`` if this version has no such index, or it is not
  ///   complete yet; ``DatabaseError/Code/invalidQuery`` if it is not a full-text index, and for a
  ///   version of the past.
  public func suggestions(for word: String, index: String, limit: Int = 5) throws -> [String] {
    let definition = try view.textIndex(named: index, for: FullTextQuery(word))
    return try view.suggestions(for: word, in: definition, limit: limit)
  }

  /// Returns a query with its unknown words replaced by ones that a full-text index has.
  ///
  /// ```swift
  /// let query = FullTextQuery("urgnt AND \"fresh mlk\"")
  /// if let other = try snapshot.correction(of: query, index: "text") {
  ///   print("Did you mean \(other.text)?")  // urgent AND "fresh milk"
  /// }
  /// ```
  ///
  /// A word is unknown if no document in the index has it. It becomes the first of its
  /// ``suggestions(for:index:limit:)``, and stays if there is none. The rest of the text stays as
  /// it is: operators, excluded words, names of properties, and words with a star or a tilde. Each
  /// word costs a search, and each unknown one costs as much as its suggestions; of a long query,
  /// the first 32 words are looked up.
  ///
  /// Correct a query that finds little or nothing.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - index: The name of a full-text index.
  /// - Returns: The other query; nil if no word is replaced.
  /// - Throws: The errors of ``suggestions(for:index:limit:)``.
  public func correction(of query: FullTextQuery, index: String) throws -> FullTextQuery? {
    let definition = try view.textIndex(named: index, for: query)
    let names = definition.index.textFieldNames
    var text = Array(query.text.utf8)
    let words = SpelledWords.ranges(in: text) { name in
      names.contains { haveSameUTF8($0, name) }
    }
    var isCorrected = false
    // From the end, so that the ranges before stay valid.
    for range in words.prefix(FullTextSpelling.correctedWordLimit).reversed() {
      let word = String(decoding: text[range], as: UTF8.self)
      guard try !view.knows(word, in: definition),
        let other = try view.suggestions(for: word, in: definition, limit: 1).first
      else { continue }
      text.replaceSubrange(range, with: other.utf8)
      isCorrected = true
    }
    return isCorrected ? query.with(text: String(decoding: text, as: UTF8.self)) : nil
  }
}
