extension SimulatedNetwork {
  /// The faults of a network, as parts of all exchanges.
  ///
  /// ```swift
  /// var conditions = SimulatedNetwork.Conditions()
  /// conditions.lostAnswers = 0.2
  /// conditions.latency = .milliseconds(30) ... .milliseconds(300)
  /// network.conditions = conditions
  /// ```
  ///
  /// Each part is between 0, for never, and 1, for always. An exchange can have several faults.
  public struct Conditions: Sendable {
    /// The time before a request arrives, and again before its answer does.
    public var latency: ClosedRange<Duration> = .zero ... .zero
    /// The part of requests that never arrive.
    public var lostRequests = 0.0
    /// The part of answers that never arrive, although the server did what it was asked for.
    public var lostAnswers = 0.0
    /// The part of exchanges that are cut at a random byte, of the request or of the answer.
    public var cuts = 0.0
    /// The part of requests that arrive twice; the second answer counts.
    public var duplicates = 0.0
    /// The part of exchanges that wait until another one has overtaken them, on both ways.
    ///
    /// They wait for some milliseconds at most, since another one need not come.
    public var reorderings = 0.0
    /// The part of `GET` requests that a proxy answers with an earlier answer to the same URL.
    public var staleAnswers = 0.0
    /// The part of exchanges whose bytes arrive a few at a time.
    public var drips = 0.0
    /// The time between these pieces.
    public var dripPause: Duration = .zero
    /// The part of requests that a proxy answers with HTML, half of them after the server did what
    /// it was asked for.
    public var proxyAnswers = 0.0
    /// The part of exchanges before which the clock jumps, by up to a day in either direction.
    ///
    /// It has no effect on a network without a `SimulatedClock`.
    public var clockJumps = 0.0

    /// Creates conditions without faults.
    public init() {}

    /// No faults.
    public static let good = Conditions()

    /// Every kind of fault, each in a few of a hundred exchanges.
    public static let bad = Conditions(each: 0.03)

    /// Creates conditions in which each kind of fault is in the same part of exchanges.
    ///
    /// - Parameter part: The part, between 0 and 1.
    public init(each part: Double) {
      (lostRequests, lostAnswers, cuts, duplicates) = (part, part, part, part)
      (reorderings, staleAnswers, drips, proxyAnswers) = (part, part, part, part)
      clockJumps = part
    }
  }

  /// What happened on a network.
  ///
  /// ```swift
  /// #expect(network.counts.cuts > 0, "nothing was cut")
  /// ```
  public struct Counts: Equatable, Sendable {
    /// The exchanges that began.
    public var exchanges = 0
    /// The bytes of requests and answers that were transferred.
    public var bytes = 0
    /// The requests that never arrived.
    public var lostRequests = 0
    /// The answers that never arrived.
    public var lostAnswers = 0
    /// The exchanges that were cut.
    public var cuts = 0
    /// The requests that arrived twice.
    public var duplicates = 0
    /// The exchanges that waited to be overtaken.
    public var reorderings = 0
    /// The requests with an earlier answer.
    public var staleAnswers = 0
    /// The exchanges whose bytes arrived a few at a time.
    public var drips = 0
    /// The requests that were answered with HTML.
    public var proxyAnswers = 0
    /// The jumps of the clock.
    public var clockJumps = 0

    /// Creates counts of nothing.
    public init() {}

    /// Adds the counts of another network.
    public static func += (a: inout Counts, b: Counts) {
      let paths: [WritableKeyPath<Counts, Int>] = [
        \.exchanges, \.bytes, \.lostRequests, \.lostAnswers, \.cuts, \.duplicates, \.reorderings,
        \.staleAnswers, \.drips, \.proxyAnswers, \.clockJumps,
      ]
      for path in paths { a[keyPath: path] += b[keyPath: path] }
    }

    /// The number of all faults.
    public var faults: Int {
      lostRequests + lostAnswers + cuts + duplicates + reorderings + staleAnswers + drips
        + proxyAnswers + clockJumps
    }
  }
}
