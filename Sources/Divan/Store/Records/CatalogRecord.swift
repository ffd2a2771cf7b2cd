import DivanLog

/// The state of one key of the catalog, or its removal; a later record of the key supersedes it.
protocol CatalogRecord {
  var catalogKey: [UInt8] { get }
  /// The locator of the record that this one supersedes.
  var superseded: RecordLocator? { get set }
  var isRemoval: Bool { get }
}
