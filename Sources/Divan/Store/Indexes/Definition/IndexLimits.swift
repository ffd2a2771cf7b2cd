/// The limits of the definition of an index, which its record has room for. FILE_FORMAT.md §10
enum IndexLimits {
  /// The maximum size of a name in bytes of UTF-8.
  static let nameSizeLimit = 240
  /// The maximum number of names in a path, and the maximum size of a name in bytes.
  static let pathLimit = 16
  static let pathNameSizeLimit = 1000
  /// The maximum number of properties.
  static let propertyLimit = 8
  /// The maximum number of conditions, and the maximum size of a stored value in one, in bytes.
  static let conditionLimit = 16
  static let conditionSizeLimit = 1000
  /// The maximum number of values in a set condition, and their maximum size together, in bytes.
  static let conditionValueLimit = 256
  static let conditionSetSizeLimit = 16_000

  /// Returns the maximum size of a condition's value, in bytes.
  static func sizeLimit(ofConditionNumbered number: UInt8) -> Int {
    number == IndexCondition.Test.isIn([]).number ? conditionSetSizeLimit : conditionSizeLimit
  }
}
