/// The calls that change something on the disk, by what the user of the store was doing.
enum CrashSites {
  /// All of them must be met by the crash suite, and no other.
  static let expected: [String] = []
}
