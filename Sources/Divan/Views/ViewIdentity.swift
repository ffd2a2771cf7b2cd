import DivanLog

/// The identity of a view, which must match byte for byte for saved rows to be used.
struct ViewIdentity: Sendable {
  let name: String
  let version: String
  let documentType: String?

  init(_ view: MapReduceView) {
    name = view.name
    version = view.version
    documentType = view.documentType
  }

  /// Whether the identities are equal by their bytes, not by Unicode equivalence.
  func isSame(as other: ViewIdentity) -> Bool {
    guard haveSameUTF8(name, other.name), haveSameUTF8(version, other.version) else { return false }
    guard let documentType, let type = other.documentType else {
      return documentType == nil && other.documentType == nil
    }
    return haveSameUTF8(documentType, type)
  }
}

extension ViewIdentity {
  /// Appends the name, the version, and the document type if there is one. FILE_FORMAT.md §19
  func encode(to writer: inout ByteWriter) {
    writer.appendPrefixed(name)
    writer.appendPrefixed(version)
    if let documentType { writer.appendPrefixed(documentType) }
  }

  init(decoding bytes: SharedBytes) throws(ByteError) {
    var reader = ByteReader(bytes)
    name = try reader.readPrefixedText()
    version = try reader.readPrefixedText()
    documentType = reader.isAtEnd ? nil : try reader.readPrefixedText()
    guard reader.isAtEnd else {
      throw ByteError(offset: reader.offset, reason: "bytes after the identity of the view")
    }
  }
}
