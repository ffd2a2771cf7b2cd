import DivanLog
import Synchronization

extension StoreEnvironment {
  /// The views of this store.
  var views: ViewRegistry { services.get(ViewRegistry.self) { ViewRegistry() } }
}
