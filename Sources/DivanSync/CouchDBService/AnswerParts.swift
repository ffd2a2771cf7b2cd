import Divan

/// What an answer consists of, collected until it is sent: JSON, and the content of attachments.
///
/// The content is not in memory: it is read and encoded while it is sent.
struct AnswerParts: Sendable {
  private var finished: [BodyPart] = []
  private var text: String
  /// The number of bytes of JSON, without the content of attachments.
  private(set) var size: Int
  /// The number of bytes of attachments, which were read once to know that they are not damaged.
  private var checkedSize = 0

  init(_ text: String = "") {
    self.text = text
    size = text.utf8.count
  }

  var isEmpty: Bool { size == 0 }

  /// About how many bytes were read to make the parts.
  var readSize: Int { size + checkedSize }

  var parts: [BodyPart] { text.isEmpty ? finished : finished + [.text(text)] }

  mutating func append(_ text: String) {
    self.text += text
    size += text.utf8.count
  }

  mutating func append(_ other: AnswerParts) {
    size += other.size
    checkedSize += other.checkedSize
    guard !other.finished.isEmpty else {
      text += other.text
      return
    }
    finish()
    finished += other.finished
    text = other.text
  }

  /// Adds the JSON of a document; null if there is none.
  mutating func append(_ document: ServedDocument?) {
    guard let document else { return append("null") }
    guard !document.inline.isEmpty,
      let attachments = document.members["_attachments"]?.objectValue
    else { return append(Value.object(document.members).json) }
    var members = document.members
    members["_attachments"] = nil
    append(Self.opened(members) + ",\"_attachments\":{")
    for (index, (name, entry)) in attachments.enumerated() {
      append((index > 0 ? "," : "") + Value.string(name).json + ":")
      guard let content = document.inline[name], let members = entry.objectValue else {
        append(entry.json)
        continue
      }
      append(Self.opened(members) + ",\"data\":\"")
      finish()
      finished.append(.base64(content))
      checkedSize += content.length
      append("\"}")
    }
    append("}}")
  }

  /// The JSON of an object that has members, without its last bracket.
  private static func opened(_ members: Value.Object) -> String {
    String(Value.object(members).json.dropLast())
  }

  private mutating func finish() {
    if !text.isEmpty { finished.append(.text(text)) }
    text = ""
  }
}
