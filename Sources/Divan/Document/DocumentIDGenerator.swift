internal import DivanLog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Generates the IDs of new documents.
///
/// ```swift
/// configuration.documentIDs = DocumentIDGenerator { "film:" + UUID().uuidString }
/// ```
///
/// For tests that need the same IDs each time, create one with a closure that counts.
public struct DocumentIDGenerator: Sendable {
  private let make: @Sendable () -> String

  /// Creates a generator from a closure that returns a new ID at each call.
  public init(_ make: @escaping @Sendable () -> String) { self.make = make }

  /// Returns a new ID.
  public func next() -> String { make() }
}

extension DocumentIDGenerator {
  /// Generates IDs of 20 characters that ascend with time, across all databases of this process.
  ///
  /// See ``timeOrdered(millisecondsSince1970:random:)``.
  public static let timeOrdered = timeOrdered(
    millisecondsSince1970: { UInt64(max(0, Date().timeIntervalSince1970 * 1000)) },
    random: { UInt64.random(in: 0...UInt64.max) })

  /// Returns a generator of IDs of 20 characters that ascend with time.
  ///
  /// An ID has 120 bits: 48 of milliseconds since 1970, eight zeros and 64 random bits. Within the
  /// same millisecond, or when the clock steps back, an ID is the previous one plus a random step
  /// of up to 2^32. So the IDs of one generator strictly ascend by their bytes, and are hard to
  /// guess. The alphabet is `-0…9A…Z_a…z`, in the order of its bytes; that of the first character
  /// is `0…9A…Za…z{|`. So no ID begins with an underscore, which is reserved, or with a hyphen,
  /// which command lines treat as an option. The first character stays `0` until the year 2109.
  public static func timeOrdered(
    millisecondsSince1970: @escaping @Sendable () -> UInt64,
    random: @escaping @Sendable () -> UInt64
  ) -> DocumentIDGenerator {
    let last = Guarded(TimeOrderedID(high: 0, low: 0))
    return DocumentIDGenerator {
      let time = millisecondsSince1970() & (1 << 48 - 1)
      let random = random()
      return last.withLock { last in
        if time > last.milliseconds {
          last = TimeOrderedID(high: time << 12 | random >> 60, low: random & (1 << 60 - 1))
        } else {
          last.advance(by: (random & 0xFFFF_FFFF) + 1)
        }
        return last.text
      }
    }
  }
}

/// The 120 bits of an ID, 60 in each number.
private struct TimeOrderedID {
  var high: UInt64
  var low: UInt64

  var milliseconds: UInt64 { high >> 12 }

  mutating func advance(by step: UInt64) {
    low += step
    // A carry into the time is harmless: the clock catches up.
    if low >= 1 << 60 {
      low -= 1 << 60
      high = (high + 1) & (1 << 60 - 1)
    }
  }

  var text: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20)
    for word in [high, low] {
      for shift in stride(from: UInt64(54), through: 0, by: -6) {
        let alphabet = bytes.isEmpty ? TimeOrderedID.firstAlphabet : TimeOrderedID.alphabet
        bytes.append(alphabet[Int(word >> shift & 0x3F)])
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let alphabet = Array(
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
  private static let firstAlphabet = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz{|".utf8)
}
