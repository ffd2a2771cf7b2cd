import Foundation

/// Waits until a condition holds, and blocks the thread meanwhile.
///
/// It sleeps between two checks. A thread that checked all the time would look busy, and Dispatch
/// starts no other thread for waiting work while as many threads as there are cores are busy.
///
/// Public, because tests of guides are also compiled as the code of another package.
public func waitUntil(_ condition: () throws -> Bool) rethrows {
  while try !condition() { Thread.sleep(forTimeInterval: 0.001) }
}
