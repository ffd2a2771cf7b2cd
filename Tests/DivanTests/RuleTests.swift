import ProofKit
import Testing

/// The rules of the log that a crash at random reaches seldom, one by one.
///
/// ``CrashTests`` prove the rules of order: flushes before renames, merges judged by durable commits,
/// checkpoints behind the log, inputs that outlive their merge.
struct RuleTests {
  // All of them begin at once and share the machine; what a rule is broken by may never end.
  @Test(.timeLimit(.minutes(20)), arguments: RuleCase.all.filter { !$0.isLong })
  func `each rule of the log is kept in a situation made for it`(rule: RuleCase) throws {
    try rule.check()
  }
}
