extension DocumentIndex {
  /// The path of the text of attachments.
  static let attachmentsPath = [FullTextOptions.attachmentsName]

  /// The paths of what a full-text index has text of: its properties, and then the attachments.
  ///
  /// The number of a field is its index here.
  var textFields: [[String]] {
    fullText?.includesAttachments == true ? paths + [DocumentIndex.attachmentsPath] : paths
  }

  /// The names of the fields, as queries and weights have them.
  var textFieldNames: [String] { textFields.map { $0.joined(separator: ".") } }
}
