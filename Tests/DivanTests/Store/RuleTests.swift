import ProofKit
import Testing

/// Tests of the rules of the log that random crashes rarely reach, one by one.
///
/// ``CrashTests`` prove the rules of order: flushes before renames, compactions that follow durable
/// commits only, checkpoints behind the log, inputs that outlive their compaction.
struct RuleTests {
  // All cases start at once and share the machine. Code that breaks a rule may never end.
  @Test(.timeLimit(.minutes(20)), arguments: RuleCase.all.filter { !$0.isLong })
  func `each rule of the log holds in a scenario that targets it`(rule: RuleCase) throws {
    try rule.check()
  }
}
