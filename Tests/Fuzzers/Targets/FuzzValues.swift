import Divan
import DivanLog

/// Reads JSON, records and values.
enum FuzzValues {
  /// Checks that parsed JSON is written in a form that parses to the same value, in each style.
  static func readJSON(_ input: [UInt8]) throws {
    let bytes = SharedBytes(copying: input)
    var elements = JSONElements(input)
    do {
      while let _ = try elements.next() {}
    } catch {}
    let value: Value
    do throws(DatabaseError) {
      value = try Value(json: input)
    } catch {
      try expect(
        (try? ValueEncoder.encode(json: bytes)) == nil, "JSON is stored that is refused as a value")
      return
    }
    let stored = try ValueEncoder.encode(value)
    try expect(
      try ValueEncoder.encode(json: bytes) == stored, "JSON is stored in two ways")
    for text in [value.json, value.prettyJSON] {
      try expect(
        try ValueEncoder.encode(Value(json: text)) == stored, "what was printed reads differently")
    }
    try readValue(EncodedValue(stored))
    try expect(try EncodedValue(stored).decode() == value, "what was stored reads differently")
  }

  /// Checks that a stored value reads the same as a whole and in parts.
  ///
  /// If it is the canonical form of the value, it must also be written in that form.
  static func readValue(_ encoded: EncodedValue) throws {
    let isCanonical = (try? encoded.validate()) != nil
    try FuzzCodable.read(encoded, isCanonical: isCanonical)
    let value: Value
    do throws(DatabaseError) {
      value = try encoded.decode()
    } catch {
      try expect(!isCanonical, "a value without damage cannot be read")
      try expect(error.code == .damaged, "\(error)")
      try probe(encoded)
      return
    }
    let again = try ValueEncoder.encode(value)
    try expect(!isCanonical || again == encoded.bytes, "a value is stored in two ways")
    try expect((try? EncodedValue(again).validate()) != nil, "a value is stored in a wrong form")
    try expect(try EncodedValue(again).decode() == value, "a stored value reads differently")
    try expect(try encoded.json() == value.json, "a value prints in two ways")
    try probe(encoded)
    if let object = value.objectValue {
      for (key, part) in object {
        let found = try encoded.property(key)
        try expect(try found?.decode() == part, "property \(key) is another one by itself")
        if let number = found?.int {
          try expect(part.intValue == Int(number), "\(key) as a number")
        }
        if let text = found?.string { try expect(part.stringValue == text, "\(key) as a text") }
      }
      try expect(
        object["\u{7F}?"] != nil || (try encoded.property("\u{7F}?")) == nil,
        "a property is found that is not there")
    } else if let array = value.arrayValue {
      for (index, part) in array.enumerated() {
        try expect(
          try encoded.element(index)?.decode() == part, "element \(index) is another one by itself")
      }
      try expect(try encoded.element(array.count) == nil, "an element behind the end")
    }
  }

  /// Reads bytes as everything that they may be; only traps matter.
  private static func probe(_ encoded: EncodedValue) throws {
    _ = (encoded.kind, encoded.int, encoded.double, encoded.string)
    do throws(DatabaseError) {
      for key in ["", "a", "name", "number"] { _ = try encoded.property(key)?.kind }
      for index in [0, 1, 15, 16, 17, 40] { _ = try encoded.element(index)?.kind }
      _ = try encoded.json()
    } catch {
      try expect(error.code == .damaged, "\(error)")
    }
  }

  /// Reads a sequence of records, as in the payload of a frame.
  static func readRecords(_ input: [UInt8]) throws {
    var reader = RecordReader(SharedBytes(copying: input), at: 0, encryptedBy: nil)
    do throws(ByteError) {
      while let (record, offset, size) = try reader.next() {
        do {
          try expect(offset >= 0 && size > 0 && offset + size <= input.count, "a record outside")
          var writer = ByteWriter()
          let written = Record.append(kind: record.kind, to: &writer, encryptedBy: nil) {
            $0.append(record.payload)
          }
          try expect(
            written == size && writer.array == Array(input[offset..<offset + size]),
            "a record is written differently")
          try readDocument(record.payload)
          try readEntry(record.payload)
        } catch {
          throw ByteError(offset: -1, reason: "\(error)")
        }
      }
    } catch {
      if error.offset == -1 { throw FuzzFinding(error.reason) }
    }
  }

  /// Reads the payload of a document's record.
  static func readDocument(_ payload: SharedBytes) throws {
    guard let document = try? InspectedDocument(payload) else { return }
    let problem = document.problem
    let again = document.recoded
    guard let twin = try? InspectedDocument(again) else {
      throw FuzzFinding("a record cannot be read after it was written again")
    }
    try expect(
      twin.id == document.id && twin.sequence == document.sequence
        && twin.revision == document.revision && twin.isDeleted == document.isDeleted
        && twin.body.bytes == document.body.bytes && twin.ancestors == document.ancestors
        && twin.superseded?.sequence == document.superseded?.sequence
        && twin.superseded?.locator == document.superseded?.locator && twin.problem == problem,
      "a record reads differently after it was written again")
    try expect(twin.recoded == again, "a record is written in more than one way")
    if problem == nil {
      try expect((try? document.body.validate()) != nil, "a sound document with a damaged body")
      _ = try document.body.decode()
    }
    try readValue(document.body)
  }

  private static func readEntry(_ bytes: SharedBytes) throws {
    guard let again = try? InspectedEntry.recode(bytes) else { return }
    try expect(
      (try? InspectedEntry.recode(again)) == again, "an entry of the index is written in two ways")
  }
}
