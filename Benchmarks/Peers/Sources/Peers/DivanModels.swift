import Divan

/// The benchmark's document as a model of Divan's.
final class SampleModel: Model {
  @Persisted var title = ""
  @Persisted var year = 0
  @Persisted var rating = 0.0
  @Persisted var done = false
  @Persisted var tags: [String]
  @Persisted var note = ""
  @Persisted var created = ""
}

/// Divan through models, compared with GRDB through its records.
///
/// Creating the models is measured, as is the creation of statement arguments from the records.
extension DivanEngine: RecordEngine {
  func insertRecords(_ records: [SampleDocument]) throws {
    let context = database.makeContext()
    var models: [SampleModel] = []
    models.reserveCapacity(records.count)
    for record in records {
      let model = SampleModel(in: context, id: record.id)
      model.title = record.title
      model.year = record.year
      model.rating = record.rating
      model.done = record.done
      model.tags = record.tags
      model.note = record.note
      model.created = record.created
      models.append(model)
    }
    try context.saveModels(models)
  }

  func loadRecords() throws -> Int {
    let context = database.makeContext()
    var models = try context.models(SampleModel.self)
    var sum = 0
    while let model = try models.next() { sum += model.year }
    return sum
  }

  func loadRecords(ids: [String]) throws -> Int {
    let context = database.makeContext()
    return try ids.reduce(0) { try $0 + (context.model(SampleModel.self, id: $1)?.year ?? 0) }
  }
}
