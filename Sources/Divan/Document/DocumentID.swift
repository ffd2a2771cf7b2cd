import DivanLog

/// What may be the ID of a document.
///
/// IDs are texts that are not empty, take at most ``DocumentLimits/documentIDSizeInBytes`` bytes of
/// UTF-8 and do not begin with an underscore. They are told apart, and ordered, by their bytes.
public enum DocumentID {
  /// Checks that `id` may be the ID of a document.
  ///
  /// - Throws: ``DatabaseError/Code/invalidDocumentID``, naming the reason.
  public static func validate(_ id: String) throws(DatabaseError) {
    let size = id.utf8.count
    guard size > 0 else { throw DatabaseError(.invalidDocumentID, "A document ID is empty") }
    guard size <= DocumentLimits.documentIDSizeInBytes else {
      throw DatabaseError(
        .invalidDocumentID,
        "A document ID has \(size) bytes where \(DocumentLimits.documentIDSizeInBytes) are allowed")
    }
    guard id.utf8.first != 0x5F else {
      throw DatabaseError(
        .invalidDocumentID, "A document ID begins with an underscore", documentID: id)
    }
  }
}

/// Which names properties may have.
package enum PropertyNames {
  /// Checks that no top-level property begins with an underscore: those are reserved.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue``, naming the property.
  package static func validate(_ properties: Value.Object) throws(DatabaseError) {
    for key in properties.keys where key.utf8.first == 0x5F { throw reserved(key) }
  }

  /// Checks the same of an object in its stored form.
  package static func validate(_ properties: EncodedValue) throws(DatabaseError) {
    // Keys are sorted: those that begin with an underscore are neighbours, and the first of them is
    // found by reading the keys in order.
    let reservedKey = properties.bytes.withSpan { bytes -> String? in
      guard let object = ValueFormat.container(bytes, at: 0, end: bytes.count), object.isObject
      else { return nil }
      var position = object.start
      while position < object.end {
        guard let (size, start) = ValueFormat.varint(bytes, at: position, end: object.end),
          size <= object.end - start,
          let end = ValueFormat.skip(bytes, at: start + size, end: object.end)
        else { return nil }
        if size > 0, bytes[start] == 0x5F {
          return String(utf8: bytes.extracting(start..<start + size))
        }
        if size > 0, bytes[start] > 0x5F { return nil }
        position = end
      }
      return nil
    }
    if let reservedKey { throw reserved(reservedKey) }
  }

  private static func reserved(_ key: String) -> DatabaseError {
    DatabaseError(
      .invalidValue,
      "The property \(key.debugDescription) begins with an underscore, which is reserved",
      hint: "Only names at the top of a document are reserved; inside it they are free.")
  }
}
