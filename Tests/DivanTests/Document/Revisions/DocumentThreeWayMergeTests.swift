import Divan
import Testing

private typealias Overlap = ThreeWayMerge.Overlap

extension ThreeWayMerge {
  /// The paths of the overlaps, as `a.b`.
  fileprivate var overlapTexts: [String] { overlaps.map { $0.path.joined(separator: ".") } }
}

struct DocumentThreeWayMergeTests {
  private let base: Value.Object = [
    "title": "Metropolis", "year": 1926, "stars": 4, "cast": ["Helm", "Abel"],
    "place": ["city": "Berlin", "country": "Germany", "studio": ["name": "UFA", "hall": 3]],
  ]

  private func edit(_ change: (inout Value.Object) -> Void) -> Value.Object {
    var edited = base
    change(&edited)
    return edited
  }

  @Test func `a merge takes the changes of either side`() {
    let mine = edit { $0["year"] = 1927 }
    let theirs = edit {
      $0["title"] = "Metropolis (restored)"
      $0["stars"] = nil
      $0["length"] = 153
    }
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    #expect(merge.overlaps == [])
    #expect(
      merge.properties
        == edit {
          $0["year"] = 1927
          $0["title"] = "Metropolis (restored)"
          $0["stars"] = nil
          $0["length"] = 153
        })
  }

  @Test func `equal changes by both sides do not overlap`() {
    let edited = edit {
      $0["year"] = 1927
      $0["stars"] = nil
      $0["length"] = ["minutes": 153]
    }
    let merge = ThreeWayMerge(base: base, mine: edited, theirs: edited)
    #expect(merge.overlaps == [] && merge.properties == edited)
  }

  @Test func `different changes by both sides overlap and keep the base value`() {
    let mine = edit {
      $0["year"] = 1927
      $0["stars"] = 5
      $0["length"] = 153
      $0["cast"] = ["Helm"]
    }
    let theirs = edit {
      $0["year"] = 1927.0
      $0["stars"] = nil
      $0["length"] = 148
      $0["cast"] = ["Helm", "Abel", "Fröhlich"]
    }
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    #expect(merge.properties == base)
    #expect(merge.overlapTexts == ["cast", "length", "stars", "year"])
    #expect(merge.overlaps.map(\.base) == [["Helm", "Abel"], nil, 4, 1926])
    #expect(merge.overlaps.map(\.mine) == [["Helm"], 153, 5, 1927])
    #expect(merge.overlaps.map(\.theirs) == [["Helm", "Abel", "Fröhlich"], 148, nil, 1927.0])
  }

  @Test func `nested objects merge property by property`() {
    let mine = edit {
      $0["place"] = [
        "city": "Potsdam", "country": "Germany", "studio": ["name": "UFA", "hall": 4],
      ]
    }
    let theirs = edit {
      $0["place"] = ["city": "Berlin", "studio": ["name": "UFA", "hall": 5, "gate": 1]]
    }
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    #expect(
      merge.properties["place"]
        == ["city": "Potsdam", "studio": ["name": "UFA", "hall": 3, "gate": 1]])
    #expect(merge.overlaps.map(\.path) == [["place", "studio", "hall"]])
  }

  @Test
  func `objects added by both sides merge, objects that replace other values overlap`() {
    let added = ThreeWayMerge(
      base: [:], mine: ["o": ["a": 1, "c": 1]], theirs: ["o": ["b": 2, "c": 2]])
    #expect(added.properties == ["o": ["a": 1, "b": 2]])
    #expect(added.overlapTexts == ["o.c"])
    let replaced = ThreeWayMerge(base: ["o": 0], mine: ["o": ["a": 1]], theirs: ["o": ["b": 2]])
    #expect(replaced.properties == ["o": 0] && replaced.overlapTexts == ["o"])
    let removed = ThreeWayMerge(
      base: ["o": ["a": 1]], mine: [:], theirs: ["o": ["a": 2]])
    #expect(removed.properties == ["o": ["a": 1]] && removed.overlapTexts == ["o"])
    let null = ThreeWayMerge(base: ["a": 1, "b": 1], mine: ["a": .null], theirs: ["b": 1])
    #expect(null.properties == ["a": 1] && null.overlapTexts == ["a"])
  }

  @Test func `a resolver decides each overlap in order`() throws {
    var overlaps: [[String]] = []
    let merge = ThreeWayMerge(
      base: ["a": 1, "b": 1, "c": 1, "d": 1, "n": ["e": 1], "f": 0],
      mine: ["a": 2, "b": 2, "c": 2, "d": 2, "n": ["e": 2], "f": 1],
      theirs: ["a": 3, "c": 3, "d": 3, "n": ["e": 3], "f": 0]
    ) { (overlap) -> ThreeWayMerge.Resolution in
      overlaps.append(overlap.path)
      switch overlap.path {
      case ["a"]: return .mine
      case ["b"]: return .theirs
      case ["c"]: return .value(nil)
      case ["n", "e"]: return .value("both")
      default: return .unresolved
      }
    }
    #expect(overlaps == [["a"], ["b"], ["c"], ["d"], ["n", "e"]])
    #expect(merge.properties == ["a": 2, "d": 1, "n": ["e": "both"], "f": 1])
    #expect(merge.overlapTexts == ["d"])
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try ThreeWayMerge(base: [:], mine: ["a": 1], theirs: ["a": 2]) { _ in throw Stop() }
    }
  }

  @Test func `merging random values is symmetric`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    var overlaps = 0
    for _ in 0..<500 {
      let base = try #require(Value.randomObject(&random, depth: 3).objectValue)
      let (mine, theirs) = (base.edited(&random), base.edited(&random))
      let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
      let mirrored = ThreeWayMerge(base: base, mine: theirs, theirs: mine)
      #expect(merge.properties == mirrored.properties)
      #expect(merge.overlaps.map(\.path) == mirrored.overlaps.map(\.path))
      #expect(merge.overlaps.map(\.mine) == mirrored.overlaps.map(\.theirs))
      #expect(merge.overlaps.map(\.theirs) == mirrored.overlaps.map(\.mine))
      #expect(merge.overlaps.map(\.base) == mirrored.overlaps.map(\.base))
      overlaps += merge.overlaps.count
      for overlap in merge.overlaps {
        #expect(overlap.base == base.value(at: overlap.path))
        #expect(overlap.mine == mine.value(at: overlap.path))
        #expect(overlap.theirs == theirs.value(at: overlap.path))
        #expect(overlap.base == merge.properties.value(at: overlap.path))
      }
      #expect(ThreeWayMerge(base: base, mine: mine, theirs: base).properties == mine)
      #expect(ThreeWayMerge(base: base, mine: base, theirs: theirs).properties == theirs)
      #expect(ThreeWayMerge(base: base, mine: mine, theirs: mine).properties == mine)
      // The result can be stored.
      _ = try Value.object(merge.properties).stored
    }
    #expect(overlaps > 50)
  }

  /// The objects have one shape: the paths `a`, `a.b` and `a.b.c`; only the last is no object.
  @Test func `edits of different properties merge as if they were made one after the other`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let keys = ["p", "q", "r"]
    let paths: [[String]] =
      keys.map { [$0] } + keys.flatMap { a in keys.map { ["o" + a, $0] } }
      + keys.map { ["oo", "o", $0] }
    func leaf(_ random: inout SeededRandom) -> Value? {
      switch Int.random(in: 0..<5, using: &random) {
      case 0: nil
      case 1: ["x"]
      default: .int(.random(in: 0...2, using: &random))
      }
    }
    for _ in 0..<500 {
      var base: Value.Object = ["op": [:], "oq": [:], "or": [:], "oo": ["o": [:]]]
      for path in paths { base.set(leaf(&random), at: path) }
      var (mine, theirs, expected) = (base, base, base)
      var overlapping: [[String]] = []
      for path in paths {
        let old = base.value(at: path)
        let my = Bool.random(using: &random) ? leaf(&random) : old
        let their = Bool.random(using: &random) ? leaf(&random) : old
        mine.set(my, at: path)
        theirs.set(their, at: path)
        if my != old, their != old, my != their {
          overlapping.append(path)
        } else {
          expected.set(my == old ? their : my, at: path)
        }
      }
      let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
      #expect(merge.properties == expected)
      #expect(Set(merge.overlaps.map(\.path)) == Set(overlapping))
      #expect(merge.overlaps.count == overlapping.count)
      let onlyMine = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { _ in .mine }
      for path in overlapping { expected.set(mine.value(at: path), at: path) }
      #expect(onlyMine.properties == expected && onlyMine.overlaps == [])
    }
  }
}

extension Value.Object {
  /// Returns the value at a path of keys.
  fileprivate func value(at path: [String]) -> Value? {
    path.dropFirst().reduce(self[path[0]]) { $0?[$1] }
  }

  /// Sets the value at a path of keys; the objects on the path must exist.
  fileprivate mutating func set(_ value: Value?, at path: [String]) {
    guard path.count > 1 else { return self[path[0]] = value }
    guard var inner = self[path[0]]?.objectValue else { return }
    inner.set(value, at: Array(path.dropFirst()))
    self[path[0]] = .object(inner)
  }

  /// Returns a copy with some properties changed, added or removed, also in inner objects.
  fileprivate func edited(_ random: inout SeededRandom) -> Value.Object {
    var edited = self
    for (key, value) in self {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: edited[key] = nil
      case 1: edited[key] = .random(&random, depth: 1)
      case 2: edited[key] = .int(.random(in: 0...1, using: &random))
      default:
        if let inner = value.objectValue { edited[key] = .object(inner.edited(&random)) }
      }
    }
    if Bool.random(using: &random) {
      edited[["new", "newer"].randomElement(using: &random) ?? ""] = .int(
        .random(in: 0...1, using: &random))
    }
    return edited
  }

  @Test func `without a base, properties that only one side has overlap at any depth`() {
    let merge = ThreeWayMerge(
      base: nil, mine: ["a": 1, "o": ["x": 1, "y": 2], "same": 0],
      theirs: ["o": ["y": 2], "same": 0])
    #expect(merge.overlaps.map(\.path) == [["a"], ["o", "x"]])
    #expect(merge.properties == ["o": ["y": 2], "same": 0])
    let known = ThreeWayMerge(base: [:], mine: ["a": 1], theirs: [:])
    #expect(known.overlaps.isEmpty && known.properties == ["a": 1])
  }
}
