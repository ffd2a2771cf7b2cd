import DivanLog
import Synchronization

extension Store {
  /// The views of this store.
  var views: ViewRegistry { services.get(ViewRegistry.self) { ViewRegistry() } }
}
