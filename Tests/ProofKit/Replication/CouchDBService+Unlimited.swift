import Divan
import DivanSync

extension CouchDBService {
  /// Creates a service that answers as many requests as arrive.
  static func unlimited(_ databases: [String: Database]) -> CouchDBService {
    var configuration = Configuration()
    configuration.limits.requestsPerSecond = 1e9
    configuration.limits.requestBurst = 1e9
    return CouchDBService(databases, configuration: configuration)
  }
}
