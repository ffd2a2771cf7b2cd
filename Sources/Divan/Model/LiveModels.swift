import DivanLog

/// The models of a context that anybody holds, by the IDs of their documents.
///
/// It holds none of them.
///
/// Invariant: at most one model for each ID; models take themselves out when they go.
struct LiveModels {
  private struct WeakModel {
    weak var model: Model?
  }

  private var models: [DocumentKey: WeakModel] = [:]

  var isEmpty: Bool { models.isEmpty }
  /// In no order.
  var all: [Model] { models.values.compactMap(\.model) }

  /// The order in which models are told of something, so that what their hooks do is the same each time.
  static func isOrdered(_ a: Model, _ b: Model) -> Bool {
    compareUTF8(a.documentID, b.documentID) < 0
  }

  /// The model of an ID; nil if there is none.
  subscript(id: String) -> Model? { models[DocumentKey(id)]?.model }

  /// Makes a model, which has its ID already, the one of that.
  mutating func set(_ model: Model) {
    models[DocumentKey(model.documentID)] = WeakModel(model: model)
    model.isKnown = true
  }

  /// Takes out a model: whoever asks for its ID gets another.
  mutating func remove(_ model: Model) {
    models[DocumentKey(model.documentID)] = nil
    model.isKnown = false
  }

  /// Takes out the model of an ID that is going; returns false if another has come meanwhile.
  mutating func forget(_ id: String) -> Bool {
    let key = DocumentKey(id)
    guard let found = models.removeValue(forKey: key) else { return false }
    guard found.model != nil else { return true }
    models[key] = found
    return false
  }
}
