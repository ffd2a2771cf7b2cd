// Where on a page something is, and what is to be done there.
extension EncodingPage {
  /// A part that belongs into an open container.
  struct Child {
    var ticket: UInt32
    /// Its key; nil in an array.
    var key: String?
    /// Where the null stands that it replaces, in an array.
    var position = 0
    var isObject: Bool?
    var part: EncodingPart
  }

  /// Which container a handle is of.
  struct Place {
    var ticket: UInt32
    var level: UInt32

    /// What no container has.
    static let nowhere = Place(ticket: .max, level: .max)
  }

  /// Where what an `encode(to:)` writes belongs.
  struct Slot {
    var ticket: UInt32
    /// How many bytes there were before it.
    var start: UInt32
    /// How many containers are around it.
    var level: UInt16
    var pathDepth: UInt16
    /// How many calls of `encode(to:)` are going on within each other.
    var callDepth: UInt16
    var holdsMarks: Bool

    var place: Place { Place(ticket: ticket, level: UInt32(level)) }
  }

  /// What is still to be done for a value.
  enum Step {
    case nothing
    /// It is to encode itself.
    case encode(Slot, Before)
    /// It may be a marked property.
    case mark
  }

  /// How things were before a value began.
  struct Before {
    var savepoint: ValueEncoder.Savepoint
    var pathDepth: Int
    var isElement = false
  }
}
