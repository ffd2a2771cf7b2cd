/// A query for text, for `matches` in filters, and for highlights.
///
/// ```swift
/// let query = Query<Note>()
///   .filter { $0.text.matches(.fullText("urgent milk*")) }.sort(.relevance)
/// ```
///
/// All words have to match, in any order. The language of queries has these signs:
///
/// | sign | what matches |
/// |---|---|
/// | `milk*` | words that begin with `milk` |
/// | `"fresh milk"` | the words next to each other |
/// | `milk~1`, `milk~2` | words with at most that many letters added, removed or replaced |
/// | `milk OR cream` | one of them |
/// | `milk NOT sour`, `milk -sour` | the first without the second |
/// | `title:milk` | the word in one property |
/// | `NEAR(milk honey, 3)` | the words with at most three others between them |
/// | `(milk OR cream) honey` | parentheses |
///
/// `OR` binds weakest: `fresh milk OR cream` is `(fresh milk) OR cream`. `NEAR` has the distance 10
/// without a number. A name before a colon is the path of a property as documents have it: its
/// keys, with dots between them, such as `author.name:smith`. Equal parts count once. A query has
/// up to 64 different words and phrases, and a phrase up to 256 words.
///
/// The elements of an array are 100 words apart, and so are attachments: no phrase joins them, but
/// `NEAR` with a distance of 100 or more can.
///
/// For relevance, more than 255 occurrences in a property of a document count as 255, where a word
/// is in many documents, or is the beginning of many words.
///
/// Text from a search field never fails: ``fullText(_:)`` leaves out what does not fit. To report
/// mistakes to the person who writes the query, use ``init(parsing:)``.
public struct FullTextQuery: Hashable, Sendable {
  /// The text of the query.
  public let text: String
  /// The expression of a query that was parsed strictly; nil for a lenient one.
  private let parsed: FullTextExpression?
  /// Whether the last word may be the beginning of one.
  private let isTyped: Bool

  /// Creates a query of any text, leaving out signs and operators that do not fit.
  ///
  /// Words beyond the limits are left out, too. A query that has no word matches no document, and
  /// neither does one of excluded words only.
  public init(_ text: String) {
    self.init(text, isTyped: false)
  }

  private init(_ text: String, isTyped: Bool) {
    (self.text, self.isTyped) = (text, isTyped)
    parsed = nil
  }

  /// Creates a query of the text in a search field, while it is being typed.
  ///
  /// ```swift
  /// let query = FullTextQuery(typing: searchField)
  /// ```
  ///
  /// The last word counts as the beginning of a word, as with a star after it, also within a
  /// quotation mark that is still open: `"fresh mi` finds `fresh milk`. A space at the end of the
  /// text ends the word. The rest is read as by ``fullText(_:)``.
  public init(typing text: String) {
    self.init(text, isTyped: true)
  }

  /// Creates a query of a text that is in the query language.
  ///
  /// - Throws: ``DatabaseError/Code/invalidQuery`` with the place, if the text is not in the
  ///   language. A name before a colon that is no property of the index is refused when the query
  ///   is used.
  public init(parsing text: String) throws(DatabaseError) {
    (self.text, isTyped) = (text, false)
    do throws(FullTextQueryError) {
      parsed = try FullTextParser.parse(text)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// A query of any text, leaving out signs and operators that do not fit.
  ///
  /// ```swift
  /// filter { $0.text.matches(.fullText(searchField)) }
  /// ```
  public static func fullText(_ text: String) -> FullTextQuery { FullTextQuery(text) }

  /// Returns the expression of the query, for an index with some properties; nil if it has no word.
  func expression(isField: @escaping (String) -> Bool) -> FullTextExpression? {
    parsed ?? FullTextParser.parseLeniently(text, typed: isTyped, isField: isField)
  }

  /// Returns a query with another text, as strict as this one if the text is in the language.
  func with(text: String) -> FullTextQuery {
    let strict = parsed == nil ? nil : try? FullTextQuery(parsing: text)
    return strict ?? FullTextQuery(text, isTyped: isTyped)
  }
}
