import Foundation

/// The most memory that this process has had so far, in bytes; nil where the system does not tell.
func peakMemory() -> Int? {
  guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
    let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let size = line.split(separator: " ").compactMap({ Int($0) }).first
  else { return nil }
  return size << 10
}
