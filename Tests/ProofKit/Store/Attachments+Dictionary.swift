package import Divan

extension Document.Attachments {
  /// What `transform` makes of each attachment, by names of which none look alike.
  package func mapValues<T>(_ transform: (Document.Attachment) throws -> T) rethrows -> [String: T]
  {
    try Dictionary(uniqueKeysWithValues: map { ($0.key, try transform($0.value)) })
  }
}
