import Observation

extension Model {
  /// The observation path of a property.
  final func observationPath(of location: PropertyLocation) -> ModelObservation.Path {
    modelClass.observationPaths[location.index]
  }

  /// Whether observers are notified of reads and changes.
  private var isObserved: Bool { modelClass.isObservable && !isUnobserved }

  /// The initial flags of a property of this model.
  final func initialFlags(at location: PropertyLocation) -> PropertyFlags.Bits {
    isUnobserved ? location.initialFlags & ~PropertyFlags.observed : location.initialFlags
  }

  /// Notifies the observation library of a read.
  @inline(__always)
  final func noteAccess(_ path: @autoclosure () -> ModelObservation.Path) {
    guard isObserved else { return }
    if observers == nil { startObservation() }
    withObservers { $0.noteAccess(path()) }
  }

  /// Notifies the observation library of a read of a property with ``PropertyFlags/observed``.
  ///
  /// Only models that can be observed have such properties.
  @inline(__always)
  final func noteAccess(ofProperty index: Int) {
    if observers == nil { startObservation() }
    withObservers { $0.noteAccess(ofProperty: index) }
  }

  /// Separate from the code that runs at each read.
  @inline(never)
  private final func startObservation() {
    observers = ModelObservers(modelClass.observationPaths)
  }

  /// Makes a change, and notifies the observers of it.
  @inline(__always)
  final func announcing(
    _ path: @autoclosure () -> ModelObservation.Path, _ change: () -> Void
  ) {
    guard let observers else { return change() }
    let path = path()
    observers.willChange(path)
    change()
    observers.didChange(path)
  }

  /// Makes a change, and notifies the observers of all its paths.
  final func announcing(
    _ paths: @autoclosure () -> [ModelObservation.Path], _ change: () -> Void
  ) {
    guard let observers else { return change() }
    let paths = paths()
    for path in paths { observers.willChange(path) }
    change()
    for path in paths { observers.didChange(path) }
  }

  /// Stops notifying observers of reads and changes.
  final func stopObservation() {
    isUnobserved = true
    for location in modelClass.locations {
      setFlags(flags(at: location) & ~PropertyFlags.observed, at: location)
    }
  }
}
