import DivanLog

extension SimulatedDisk {
  /// What is left of the changes that were not flushed when the power went.
  ///
  /// What was flushed is always left. A flushed file whose name was not flushed is not found.
  public enum Loss: Hashable, Sendable {
    /// Nothing that was not flushed.
    case strict
    /// Everything.
    case everything
    /// Everything, and it still is not flushed: only the process ended, not the machine.
    case processEnd
    /// The first of the changes, in the order they were made, and perhaps a part of the next one.
    case prefix(seed: UInt64)
    /// The first so many changes, whole.
    case first(Int)
    /// Any of the changes, and of each write any of the blocks of 4,096 bytes.
    case random(seed: UInt64)
    /// The first so many changes, whole, and of the next one, if it is a write, so many bytes; the
    /// changes after it as well, if `laterStay`, or none of them.
    case torn(Int, keeping: Int, laterStay: Bool)
    /// As a journal of names and sizes leaves it that is written after the new bytes: the first so
    /// many of the changes that made a name or a file longer, with all bytes that they make
    /// reachable, and of the next write the blocks of 4,096 bytes that its seed says. Bytes that
    /// overwrite others may be there or not, whichever came first.
    case ordered(Int, seed: UInt64)
    /// All changes but this one, counted from 0 and around.
    case dropOne(Int)
    /// Names and sizes, but in new bytes zeros, noise or something old.
    case sizeFirst(seed: UInt64)
    /// Bytes, but not all of the sizes and names that are needed to find them.
    case dataFirst(seed: UInt64)
  }

  /// How a write is torn that only a part of is left of.
  public struct Tearing: Hashable, Sendable {
    /// What stands where the rest of the write should be.
    public enum Remainder: String, CaseIterable, Hashable, Sendable {
      /// What stood there before, if anything.
      case old
      /// Zeros.
      case zeros
      /// Anything, but the same at the same place of every file of one disk, so that what is left
      /// differs in what was kept, never in noise alone.
      case noise
      /// Bytes of another file, or of one that was there earlier.
      case stale
    }

    /// The write is cut where the offset in the file is a multiple of this.
    public let granularityBytes: Int
    /// What stands where the rest of the write should be.
    public let remainder: Remainder

    /// Describes a way to tear writes; `granularityBytes` is above 0.
    public init(granularityBytes: Int, remainder: Remainder) {
      require(granularityBytes > 0, "A granularity of no bytes")
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

  /// The disk as it is when started again after a loss of power at this moment.
  ///
  /// This disk stays as it is, so that one moment can be tried with many losses, also without
  /// losing power. No fault, planned loss or limit is carried over. Where `loss` tears writes, or
  /// leaves bytes that nobody wrote, it does so by `tearing`, or, if that is nil, by its seed.
  public func restarted(_ loss: Loss, tearing: Tearing? = nil) -> SimulatedDisk {
    successor(
      files.restarted(loss, tearing: tearing),
      tearing.map { "restarted(.\(loss), tearing: \($0))" } ?? "restarted(.\(loss))")
  }

  /// How many changes are not flushed: what ``Loss/first(_:)``, ``Loss/dropOne(_:)`` and
  /// ``Loss/torn(_:keeping:laterStay:)`` count.
  public var unflushedChangeCount: Int { files.unflushedChangeCount }

  /// How many calls changed something or flushed: what ``losePower(atCall:)`` counts.
  public var changingCallCount: Int { files.changingCallCount }
}
