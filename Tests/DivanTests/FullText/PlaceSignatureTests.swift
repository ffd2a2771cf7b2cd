import DivanTesting
import Testing

@testable import Divan

/// Tests of the signatures of places, which must not deny a place that two terms have in common.
struct PlaceSignatureTests {
  @Test func `places at a distance have a bit in common when they are moved by it`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<5_000 {
      let distance = Int.random(in: 0...200, using: &random)
      let field = Int.random(in: 0..<Occurrence.fieldLimit, using: &random)
      let position = UInt64.random(in: 0...UInt64(UInt32.max), using: &random)
      var first = PlaceSignature()
      first.insert(field: field, position: position)
      var second = PlaceSignature()
      second.insert(field: field, position: position + UInt64(distance))
      for _ in 0..<3 {
        second.insert(
          field: .random(in: 0..<4, using: &random), position: .random(in: 0...99, using: &random))
      }
      first.formIntersection(second.moved(back: distance))
      #expect(!first.isEmpty, "seed \(seed): \(field), \(position), \(distance)")
    }
  }

  @Test func `two places at other distances, and properties, have none in common`() {
    for (field, position, other) in [(0, 10, 12), (0, 10, 10), (1, 10, 11), (5, 0, 1)] {
      var first = PlaceSignature()
      first.insert(field: 0, position: UInt64(position))
      var second = PlaceSignature()
      second.insert(field: field, position: UInt64(other))
      let isNext = field == 0 && other == position + 1
      first.formIntersection(second.moved(back: 1))
      #expect(first.isEmpty != isNext)
    }
    var none = PlaceSignature()
    #expect(none.isEmpty && !PlaceSignature.any.isEmpty)
    none.formIntersection(.any)
    #expect(none.isEmpty)
  }
}
