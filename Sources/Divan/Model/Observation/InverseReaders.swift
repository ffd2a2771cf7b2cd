/// The models of a context whose inverses are observed, by the IDs of their documents.
///
/// Invariant: `isEmpty` is stored, because it is checked for each model that is added or removed.
struct InverseReaders {
  /// Models of two databases may share an ID.
  private var readers: [DocumentKey: [WeakModel]] = [:] {
    didSet { isEmpty = readers.isEmpty }
  }
  private(set) var isEmpty = true

  /// Notes that an observed model reads an inverse.
  mutating func add(_ model: Model) {
    let key = DocumentKey(model.id)
    var known = readers[key] ?? []
    guard !known.contains(where: { $0.model === model }) else { return }
    known.removeAll { $0.model == nil }
    readers[key] = known + [WeakModel(model: model)]
  }

  /// Drops the deallocated readers of an ID.
  mutating func forget(_ key: DocumentKey) {
    guard let known = readers[key]?.filter({ $0.model != nil }) else { return }
    readers[key] = known.isEmpty ? nil : known
  }

  /// Drops all deallocated readers.
  mutating func forgetDeallocated() {
    for key in readers.keys { forget(key) }
  }

  /// The readers with one of these IDs.
  func models(_ keys: some Sequence<DocumentKey>) -> [Model] {
    keys.flatMap { readers[$0] ?? [] }.compactMap(\.model)
  }

  /// All readers.
  var models: [Model] { readers.values.joined().compactMap(\.model) }
}

/// A weak reference to a model.
struct WeakModel {
  weak var model: Model?
}
