import Synchronization

/// The path of an open file, which can get another name once.
///
/// A new file is opened under a temporary name and renamed when it is whole. Each call on the file
/// reads its path, so there is no lock.
package struct OpenFilePath: ~Copyable, Sendable {
  private final class Name: Sendable {
    let text: String

    init(_ text: String) { self.text = text }
  }

  private let original: String
  private let later = AtomicLazyReference<Name>()

  package init(_ path: String) { original = path }

  /// The path at present.
  package var text: String { later.load()?.text ?? original }

  /// Notes the final name; a later call changes nothing.
  package func rename(to path: String) { _ = later.storeIfNil(Name(path)) }
}
