/// Returns how often a test does something: less often under the thread sanitizer.
///
/// The sanitizer makes each step take many times as long. It reports two accesses without an order
/// between them the first time that both happen, so more rounds show it little that is new. Without
/// it, the same tests look for wrong results, which more rounds find more often.
func effort(_ count: Int, underThreadSanitizer fewer: Int) -> Int {
  #if DIVAN_THREAD_SANITIZER
    fewer
  #else
    count
  #endif
}
