import Divan
import Foundation

/// The benchmark's document as a model.
final class SampleModel: Model {
  @Persisted var title = ""
  @Persisted var year = 0
  @Persisted var rating = 0.0
  @Persisted var done = false
  @Persisted var tags: [String]
  @Persisted var note = ""
  @Persisted var created = ""
}

/// A model that notifies no observers of its properties.
private final class UnobservedModel: Model {
  override class var isObservable: Bool { false }
  @Persisted var year = 0
}

/// The same as a plain class that is never stored, for comparison.
final class PlainModel {
  var year = 0
}

extension Workload {
  /// Models and their properties.
  ///
  /// A property is read and written through a call that is not inlined; the same work on a class
  /// that is not a model shows what that costs.
  static let modelling = [
    Workload(
      name: "model-save", title: "create models and save them in one transaction",
      unit: .microsecondsPerDocument
    ) { bench in
      let database = try Database.inMemory()
      let documents = modelDocuments(bench)
      let context = database.makeContext()
      let elapsed = try seconds {
        let models = try documents.map { document in
          let model = SampleModel(in: context, id: document.id)
          guard let title = document["title"]?.stringValue, let year = document["year"]?.intValue,
            let note = document["note"]?.stringValue
          else { throw BenchmarkError("no sample document") }
          model.title = title
          model.year = year
          model.note = note
          return model
        }
        try context.saveModels(models)
      }
      return elapsed * 1e6 / Double(documents.count)
    },
    Workload(
      name: "model-save-bare", title: "saving models ÷ putting the same documents",
      unit: .times
    ) { bench in
      let documents = modelDocuments(bench)
      let bare = try Database.inMemory()
      let putting = try seconds { try bare.write { _ = try $0.put(contentsOf: documents) } }
      let database = try Database.inMemory()
      let context = database.makeContext()
      let models = try documents.map { try fill(SampleModel(in: context, id: $0.id), from: $0) }
      let saving = try seconds { try context.saveModels(models) }
      guard try database.read({ try $0.count }) == documents.count else {
        throw BenchmarkError("models are missing")
      }
      return saving / putting
    },
    Workload(
      name: "model-create", title: "create a model in a context, release both", unit: .nanoseconds
    ) { bench in
      let database = try Database.inMemory()
      let ids = modelDocuments(bench).map(\.id)
      var years = 0
      let elapsed = seconds {
        let context = database.makeContext()
        for id in ids { years += SampleModel(in: context, id: id).year + 1 }
      }
      guard years == ids.count else { throw BenchmarkError("models are missing") }
      return elapsed * 1e9 / Double(ids.count)
    },
    Workload(
      name: "model-load", title: "load models, one property each", unit: .nanosecondsPerDocument,
      prepare: { try $0.loadModels() }
    ) { try measureLoading($0, isObservable: true) },
    Workload(
      name: "model-load-unobserved", title: "the same in a context that is not observable",
      unit: .nanosecondsPerDocument, prepare: { try $0.loadModels() }
    ) { try measureLoading($0, isObservable: false) },
    Workload(name: "property-read", title: "read a model's property again", unit: .nanoseconds) {
      _ in
      let model = SampleModel()
      model.year = 1927
      return try measureAccesses { sum, _ in sum &+= readYear(model) }
    },
    Workload(
      name: "property-read-unobserved", title: "the same for a class that is not observable",
      unit: .nanoseconds
    ) { _ in
      let model = UnobservedModel()
      model.year = 1927
      return try measureAccesses { sum, _ in sum &+= readYear(model) }
    },
    Workload(
      name: "property-read-plain", title: "the same for a class that is not a model",
      unit: .nanoseconds
    ) { _ in
      let model = PlainModel()
      model.year = 1927
      return try measureAccesses { sum, _ in sum &+= readYear(model) }
    },
    Workload(name: "property-write", title: "write a model's property again", unit: .nanoseconds) {
      _ in
      let model = SampleModel()
      model.year = 1927
      return try measureAccesses { sum, index in
        writeYear(model, index)
        sum &+= index
      }
    },
    Workload(
      name: "property-write-unobserved", title: "the same for a class that is not observable",
      unit: .nanoseconds
    ) { _ in
      let model = UnobservedModel()
      return try measureAccesses { sum, index in
        writeYear(model, index)
        sum &+= index
      }
    },
    Workload(
      name: "property-write-plain", title: "the same for a class that is not a model",
      unit: .nanoseconds
    ) { _ in
      let model = PlainModel()
      return try measureAccesses { sum, index in
        writeYear(model, index)
        sum &+= index
      }
    },
    Workload(
      name: "property-first-change", title: "first change of a saved model", unit: .nanoseconds
    ) { bench in
      let database = try Database.inMemory()
      let context = database.makeContext()
      let models = modelDocuments(bench).map { SampleModel(in: context, id: $0.id) }
      for model in models { model.year = 1 }
      try context.saveModels(models)
      let elapsed = seconds { for model in models { writeYear(model, 2) } }
      guard context.unsavedModels.count == models.count else {
        throw BenchmarkError("changed models are missing")
      }
      return elapsed * 1e9 / Double(models.count)
    },
  ]

  /// Sets all properties of a model to those of a document.
  private static func fill(
    _ model: SampleModel, from document: Document
  ) throws -> SampleModel {
    // The class gives its type, and as a value of a model it would be an undeclared property.
    for (key, value) in document.properties where key != "type" {
      try model.setValue(value, for: key)
    }
    guard try model.propertiesToSave() == document.properties else {
      throw BenchmarkError("the model differs from its document")
    }
    return model
  }

  private static func modelDocuments(_ bench: Bench) -> [Document] {
    bench.modelDocuments(0..<min(bench.count, 100_000))
  }

  private static func measureLoading(_ bench: Bench, isObservable: Bool) throws -> Double {
    let database = try bench.open("models")
    defer { try? database.close() }
    let context = database.makeContext()
    context.isObservable = isObservable
    var sum = 0
    let elapsed = try seconds {
      var models = try context.models(SampleModel.self)
      while let model = try models.next() { sum += model.year }
    }
    guard sum > 0 else { throw BenchmarkError("models without years") }
    return elapsed * 1e9 / Double(bench.count)
  }

  private static func measureAccesses(_ body: (inout Int, Int) -> Void) throws -> Double {
    let count = 5_000_000
    var sum = 0
    let elapsed = seconds { for index in 1...count { body(&sum, index) } }
    guard sum > 0 else { throw BenchmarkError("nothing was read") }
    return elapsed * 1e9 / Double(count)
  }

  @inline(never)
  private static func readYear(_ model: SampleModel) -> Int { model.year }
  @inline(never)
  private static func readYear(_ model: UnobservedModel) -> Int { model.year }
  @inline(never)
  private static func readYear(_ model: PlainModel) -> Int { model.year }
  @inline(never)
  private static func writeYear(_ model: SampleModel, _ year: Int) { model.year = year }
  @inline(never)
  private static func writeYear(_ model: UnobservedModel, _ year: Int) { model.year = year }
  @inline(never)
  private static func writeYear(_ model: PlainModel, _ year: Int) { model.year = year }
}

extension Bench {
  /// The sample documents, with the type that their model's class stores.
  fileprivate func modelDocuments(_ numbers: Range<Int>) -> [Document] {
    samples.documents(numbers).map { sample in
      var document = sample
      document["type"] = "SampleModel"
      return document
    }
  }

  /// Ensures that there is a closed store of all documents with the type of their model's class.
  fileprivate func loadModels() throws {
    guard !FileManager.default.fileExists(atPath: path("models")) else { return }
    let database = try open("models", .none)
    for start in stride(from: 0, to: count, by: Self.transactionSize) {
      let documents = modelDocuments(start..<min(start + Self.transactionSize, count))
      try database.write { _ = try $0.put(contentsOf: documents) }
    }
    try database.close()
  }
}
