import Foundation

/// The most memory that this process has had so far, in bytes; nil where the system does not tell.
func peakMemory() -> Int? {
  guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
    let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let size = line.split(separator: " ").compactMap({ Int($0) }).first
  else { return nil }
  return size << 10
}

/// How long the processor has worked for this thread.
func processorTime() -> Duration {
  var time = timespec()
  // Cannot fail: the clock is there, and so is the place for its time.
  _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
