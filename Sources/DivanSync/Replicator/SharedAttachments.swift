import Synchronization

/// The attachments of a batch whose content the target has, so that it was not sent.
final class SharedAttachments: Sendable {
  private struct Place: Hashable {
    let revision: Int
    let attachment: Int
  }

  private let places = Mutex<Set<Place>>([])

  /// Adds an attachment of a revision, by the indexes of both.
  func insert(_ revision: Int, _ attachment: Int) {
    let place = Place(revision: revision, attachment: attachment)
    places.withLock { _ = $0.insert(place) }
  }

  func contains(_ revision: Int, _ attachment: Int) -> Bool {
    let place = Place(revision: revision, attachment: attachment)
    return places.withLock { $0.contains(place) }
  }
}
