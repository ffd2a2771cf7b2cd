import DivanLog
import Synchronization

extension Model {
  /// The superclasses of the class below `Model`, the closest one first.
  static var superclasses: [Model.Type] {
    var found: [Model.Type] = []
    while let next = _getSuperclass(found.last ?? self) as? Model.Type, next != Model.self {
      found.append(next)
    }
    return found
  }

  static func isSubclass(of type: Model.Type) -> Bool {
    superclasses.contains { $0 == type }
  }
}
