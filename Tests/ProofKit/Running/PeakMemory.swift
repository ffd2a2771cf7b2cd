import Foundation

/// Returns the peak memory of this process in bytes; nil if the system does not provide it.
func peakMemory() -> Int? {
  guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
    let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let size = line.split(separator: " ").compactMap({ Int($0) }).first
  else { return nil }
  return size << 10
}

/// Returns the processor time of this thread.
func processorTime() -> Duration {
  var time = timespec()
  // Cannot fail: the clock exists, and the pointer is valid.
  _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
