/// Merges the concurrent revisions of a document into one document.
///
/// The other leaves are merged into the winning one, one after the other. The *base* of each merge
/// is the nearest common ancestor whose content is retained. Of the branches that were merged
/// already, the one that has most in common with the new one decides. Without a base every
/// difference is an overlap.
struct BranchMerge {
  private let tree: RevisionTree
  private let contents: [RevisionID: Document]
  /// The tree indexes of the leaves that were merged so far and of all their ancestors.
  private var merged: Set<Int>
  /// The result so far: the winning revision, with the merged properties and attachments.
  private(set) var result: Document

  /// Begins with the winning revision.
  init(
    _ winner: Document, _ entry: DocumentEntry, in view: ReadView
  ) throws(DatabaseError) {
    let newest = try view.newestRecord(of: entry, winner.id)
    tree = try view.tree(of: newest)
    contents = try view.retainedRecords(of: winner.id, entry, newest).mapValues {
      view.document(winner.id, of: $0)
    }
    result = winner
    merged = []
    _ = add(winner)
  }

  /// Merges another leaf into the result.
  ///
  /// - Parameters:
  ///   - branch: the leaf.
  ///   - resolve: called for properties that both sides changed in different ways.
  /// - Returns: the overlaps that are not resolved.
  /// - Throws: errors of `resolve`.
  mutating func merge(
    _ branch: Document,
    _ resolve: (ThreeWayMerge.Overlap) throws -> ThreeWayMerge.Resolution
  ) throws -> [ThreeWayMerge.Overlap] {
    let base = add(branch)
    let properties = try ThreeWayMerge(
      base: base?.properties, mine: result.properties, theirs: branch.properties,
      resolve: resolve)
    let attachments = try AttachmentMerge(
      base: base?.attachments, mine: result.attachments, theirs: branch.attachments,
      resolve)
    if properties.properties != result.properties { result.properties = properties.properties }
    result.attachments = attachments.result
    return properties.overlaps + attachments.overlaps
  }

  /// Adds a leaf and its ancestors to the merged revisions.
  ///
  /// - Returns: the nearest revision with content that is an ancestor of it and of another merged
  ///   leaf.
  private mutating func add(_ leaf: Document) -> Document? {
    var index = leaf.revision.flatMap(tree.index)
    while let node = index, merged.insert(node).inserted { index = tree.parent(of: node) }
    guard let index else { return nil }
    for node in tree.history(of: index) {
      if let document = contents[node.revision] { return document }
    }
    return nil
  }
}

/// Merges attachments, by name.
///
/// An attachment is merged as a whole: its type and its content.
private struct AttachmentMerge {
  let result: Document.Attachments
  let overlaps: [ThreeWayMerge.Overlap]

  typealias Attachments = Document.Attachments

  init(
    base: Attachments?, mine: Attachments, theirs: Attachments,
    _ resolve: (ThreeWayMerge.Overlap) throws -> ThreeWayMerge.Resolution
  ) throws {
    let all = [mine, theirs, base ?? [:]]
    let merge = try ThreeWayMerge(
      base: base.map(AttachmentMerge.facts), mine: AttachmentMerge.facts(mine),
      theirs: AttachmentMerge.facts(theirs)
    ) { overlap in
      let resolution = try resolve(AttachmentMerge.resolvable(overlap))
      guard case .value(let value?) = resolution else { return resolution }
      let name = overlap.path[0]
      guard let chosen = all.lazy.compactMap({ $0[name] }).first(where: { $0.facts == value })
      else {
        throw DatabaseError(
          .invalidAttachment, "the resolution of the attachment is not a value of either side",
          hint: "Choose one side, or remove the attachment", propertyPath: "_attachments.\(name)")
      }
      return .value(.array([chosen.facts]))
    }
    var result: Attachments = [:]
    for (name, facts) in merge.properties {
      result[name] = all.lazy.compactMap { $0[name] }.first { .array([$0.facts]) == facts }
    }
    self.result = result
    overlaps = merge.overlaps.map(AttachmentMerge.resolvable)
  }

  /// The facts of attachments, each in an array, so that it is merged as a whole.
  private static func facts(_ attachments: Attachments) -> Value.Object {
    Value.Object(attachments.map { ($0.key, .array([$0.value.facts])) })
  }

  /// The overlap in the form that is passed to the caller's `resolve`.
  private static func resolvable(_ overlap: ThreeWayMerge.Overlap) -> ThreeWayMerge.Overlap {
    func content(_ value: Value?) -> Value? {
      if case .array(let values)? = value { values.first } else { nil }
    }
    return ThreeWayMerge.Overlap(
      path: ["_attachments"] + overlap.path, base: content(overlap.base),
      mine: content(overlap.mine), theirs: content(overlap.theirs))
  }
}

extension Document.Attachment {
  /// The values that decide whether two attachments are equal.
  fileprivate var facts: Value {
    [
      "content_type": .string(contentType), "digest": .string(digest ?? ""),
      "length": .int(Int64(length)),
    ]
  }
}
