import Divan
import DivanLog

extension Workload {
  /// Conversion of values between their forms, without a store.
  ///
  /// The stored form has no public interface; the last two use the package's own.
  static let converting = [
    Workload(
      name: "json-parse", title: "JSON text to value", unit: .nanosecondsPerDocument
    ) { bench in
      let texts = values(bench).map { Array($0.json.utf8) }
      return try measureEach(texts) { _ = try Value(json: $0) }
    },
    Workload(
      name: "json-write", title: "value to JSON text", unit: .nanosecondsPerDocument
    ) { bench in
      try measureEach(values(bench)) { value in
        guard !value.json.isEmpty else { throw BenchmarkError("no text") }
      }
    },
    Workload(
      name: "value-encode", title: "value to its stored form", unit: .nanosecondsPerDocument
    ) { bench in
      var encoder = ValueEncoder()
      var writer = ByteWriter()
      return try measureEach(values(bench)) { value in
        writer.removeAll()
        try encoder.encode(value, into: &writer)
      }
    },
    Workload(
      name: "value-decode", title: "stored form to value", unit: .nanosecondsPerDocument
    ) { bench in
      let stored = try values(bench).map { EncodedValue(try ValueEncoder.encode($0)) }
      return try measureEach(stored) { _ = try $0.decode() }
    },
  ]

  private static func values(_ bench: Bench) -> [Value] {
    bench.samples.documents(0..<min(bench.count, 20_000)).map { .object($0.properties) }
  }

  /// Returns the nanoseconds that `body` takes for one of `inputs`.
  static func measureEach<Input>(
    _ inputs: [Input], _ body: (Input) throws -> Void
  ) throws -> Double {
    let elapsed = try seconds { for input in inputs { try body(input) } }
    return elapsed * 1e9 / Double(inputs.count)
  }
}
