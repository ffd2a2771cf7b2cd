package import Divan

extension Document.Attachments {
  /// Transforms each attachment, by names that must be distinct as strings.
  package func mapValues<T>(_ transform: (Document.Attachment) throws -> T) rethrows -> [String: T]
  {
    try Dictionary(uniqueKeysWithValues: map { ($0.key, try transform($0.value)) })
  }
}
