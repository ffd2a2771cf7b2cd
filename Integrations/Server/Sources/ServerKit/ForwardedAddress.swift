/// The headers of proxies.
enum ForwardedAddress {
  /// Returns whether a proxy has passed a request on, as far as its headers say so.
  static func isForwarded(_ headers: [String: String]) -> Bool {
    [
      "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
    ].contains { headers[$0] != nil }
  }

  /// Returns the address that the last proxy names in its header; nil if it names none.
  ///
  /// Each proxy adds the address that it was connected from. Those before the last one are what its
  /// client says, which can be anything, and so can be the headers that the proxy does not write.
  static func text(
    in headers: [String: String], _ header: ServerOptions.ProxyHeader
  ) -> String? {
    guard let list = headers[header.rawValue] else { return nil }
    guard header == .forwarded else { return address(last(of: list, ",")) }
    for pair in last(of: list, ",").split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, trimmed(parts[0]).lowercased() == "for" else { continue }
      return address(parts[1])
    }
    return nil
  }

  private static func last(of list: String, _ separator: Character) -> Substring {
    list.split(separator: separator).last ?? ""
  }

  /// The address without quotes, brackets and a port.
  private static func address(_ text: Substring) -> String? {
    let text = trimmed(text).filter { $0 != "\"" }
    if text.first == "[" { return String(text.dropFirst().prefix { $0 != "]" }) }
    // One colon comes before a port, several are in an address of IPv6.
    let isPlain = text.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1
    let address = isPlain ? String(text.prefix { $0 != ":" }) : text
    return address.isEmpty ? nil : address
  }

  private static func trimmed(_ text: Substring) -> String {
    let start = text.drop { $0 == " " || $0 == "\t" }
    return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
