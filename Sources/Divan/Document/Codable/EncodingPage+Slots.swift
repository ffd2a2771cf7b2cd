// The positions in a page, and the next steps there.
extension EncodingPage {
  /// A part that belongs to an open container.
  struct Child {
    var ticket: UInt32
    /// Its key; nil in an array.
    var key: String?
    /// In an array, the position of the null that it replaces.
    var position = 0
    var isObject: Bool?
    var part: EncodingPart
  }

  /// The location of a container, which identifies it for encoders.
  struct Location {
    var ticket: UInt32
    var level: UInt32

    /// The location of no container.
    static let noContainer = Location(ticket: .max, level: .max)
  }

  /// The position where one call of `encode(to:)` writes.
  struct Slot {
    var ticket: UInt32
    /// The number of bytes before it.
    var start: UInt32
    /// The number of containers around it.
    var level: UInt16
    var pathDepth: UInt16
    /// The number of nested calls of `encode(to:)`.
    var callDepth: UInt16
    var hasMetadata: Bool

    var location: Location { Location(ticket: ticket, level: UInt32(level)) }
  }

  /// The next step for a value.
  enum Step {
    case nothing
    /// Call the value's `encode(to:)`.
    case encode(Slot, Before)
    /// The value may be a metadata property.
    case metadata
  }

  /// The state before a value began.
  struct Before {
    var savepoint: ValueEncoder.Savepoint
    var pathDepth: Int
    var isElement = false
  }
}
