import DivanLog

extension SimulatedDisk {
  /// The unflushed changes that are left after a loss of power.
  ///
  /// ```swift
  /// for loss in SimulatedDisk.Loss.variety(seed: 7) {
  ///   let after = try open(disk.restarted(loss))
  ///   #expect(try after.snapshot().exists("note"))
  /// }
  /// ```
  ///
  /// Flushed changes are always left. A flushed file whose name was not flushed is not found.
  public enum Loss: Hashable, Sendable {
    /// None of the unflushed changes.
    case strict
    /// Everything.
    case everything
    /// Everything, still unflushed: only the process ended, not the machine.
    case processEnd
    /// The first of the changes, in their order, and perhaps a part of the next one.
    case prefix(seed: UInt64)
    /// This many of the first changes, whole.
    case first(Int)
    /// Any of the changes, and of each write any of the blocks of 4,096 bytes.
    case random(seed: UInt64)
    /// This many of the first changes, whole, and `keeping` bytes of the next one if it is a write.
    ///
    /// If `laterStay` is true, all changes after it are left, too; otherwise none is.
    case torn(Int, keeping: Int, laterStay: Bool)
    /// The changes that are left by a journal of names and sizes written after the new bytes.
    ///
    /// Of the changes that made a name or a file longer, this many of the first are left, with all
    /// bytes that they make reachable. Of the next write, those blocks of 4,096 bytes are left that
    /// the seed selects. Bytes that overwrite others may be left or not, in any order.
    case ordered(Int, seed: UInt64)
    /// All changes but this one, counted from 0; the number wraps around.
    case dropOne(Int)
    /// Names and sizes, but zeros, noise or old bytes instead of the new bytes.
    case sizeFirst(seed: UInt64)
    /// Bytes, but not all of the sizes and names that are needed to find them.
    case dataFirst(seed: UInt64)
  }

  /// The way in which a partly written write is torn.
  ///
  /// ```swift
  /// let tearing = SimulatedDisk.Tearing(granularityBytes: 512, remainder: .zeros)
  /// let after = disk.restarted(.prefix(seed: 3), tearing: tearing)
  /// ```
  public struct Tearing: Hashable, Sendable {
    /// The bytes instead of the rest of the write.
    ///
    /// ```swift
    /// for remainder in SimulatedDisk.Tearing.Remainder.allCases {
    ///   let tearing = SimulatedDisk.Tearing(granularityBytes: 8, remainder: remainder)
    ///   let after = disk.restarted(.random(seed: 4), tearing: tearing)
    ///   #expect(try open(after).snapshot().exists("note"))
    /// }
    /// ```
    public enum Remainder: String, CaseIterable, Hashable, Sendable {
      /// The bytes that were there before, if any.
      case old
      /// Zeros.
      case zeros
      /// Noise that is the same at the same offset of every file of one disk.
      ///
      /// Images therefore differ in the bytes that were kept, never in noise alone.
      case noise
      /// Bytes of another file, or of one that existed earlier.
      case stale
    }

    /// The write is cut where the offset in the file is a multiple of this.
    public let granularityBytes: Int
    /// The bytes instead of the rest of the write.
    public let remainder: Remainder

    /// Describes a way to tear writes; `granularityBytes` must be above 0.
    public init(granularityBytes: Int, remainder: Remainder) {
      require(granularityBytes > 0, "granularityBytes must be above 0")
      self.granularityBytes = granularityBytes
      self.remainder = remainder
    }
  }

  /// Loses power at the `call`-th call from now that changes something or flushes.
  ///
  /// That call, counted from 1, does nothing, and it and every later one throws.
  public func losePower(atCall call: Int) { files.losePower(atCall: call) }

  /// Loses power now: every later call throws.
  public func losePower() { files.losePower(atCall: 0) }

  /// Whether the power was lost.
  public var hasLostPower: Bool { files.hasLostPower }

  /// Returns the disk as it is when started again after a loss of power now.
  ///
  /// This disk does not change, so you can try many losses at one point, also without losing
  /// power. No fault, planned loss or limit is carried over. Where `loss` tears writes, or
  /// leaves stray bytes, it does so by `tearing`, or, if that is nil, by its seed.
  public func restarted(_ loss: Loss, tearing: Tearing? = nil) -> SimulatedDisk {
    successor(
      files.restarted(loss, tearing: tearing),
      tearing.map { "restarted(.\(loss), tearing: \($0))" } ?? "restarted(.\(loss))")
  }

  /// The number of unflushed changes.
  ///
  /// ``Loss/first(_:)``, ``Loss/dropOne(_:)`` and ``Loss/torn(_:keeping:laterStay:)`` count these.
  public var unflushedChangeCount: Int { files.unflushedChangeCount }

  /// The number of calls that changed something or flushed, which ``losePower(atCall:)`` counts.
  public var changingCallCount: Int { files.changingCallCount }
}
