internal import DivanLog

extension NodePage {
  /// Returns the reason why bytes are not a page, or nil if they are one.
  ///
  /// If the result is nil, every access to the page by an index below its count stays within the
  /// bytes, even if they were forged.
  static func problem(
    in bytes: UnsafeRawBufferPointer, valueLength: Int? = nil
  ) -> String? {
    guard let base = bytes.baseAddress, bytes.count >= headerSize else {
      return "it is shorter than a page's header"
    }
    guard bytes.count <= NodePageWriter.capacityLimit else { return "it is too long for a page" }
    // From here on the header may be read.
    let page = unsafe NodePage(base: base)
    let heapStart = page.heapStart
    guard heapStart <= bytes.count, headerSize + slotSize * page.count <= heapStart else {
      return "its entries overlap its slots"
    }
    // From here on heads and slots may be read.
    var heapUsed = 0
    for index in 0..<page.count {
      let start = page.slot(index)
      guard start >= heapStart, let size = unsafe entrySize(in: bytes, at: start) else {
        return "entry \(index) is outside the page"
      }
      heapUsed += size
    }
    // From here on entries may be read.
    guard heapUsed + page.garbage == bytes.count - heapStart else {
      return "its entries and garbage do not add up"
    }
    return page.problemWithOrder(valueLength: valueLength)
  }

  /// Returns the size of the entry at `start`, or nil if it is not within the bytes.
  private static func entrySize(in bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
    // At most four bytes of lengths, each checked before it is read.
    var offset = start
    func length() -> Int? {
      guard offset < bytes.count else { return nil }
      let first = Int(unsafe bytes[offset])
      offset += 1
      if first < 0x80 { return first }
      guard offset < bytes.count else { return nil }
      let second = Int(unsafe bytes[offset])
      offset += 1
      let length = (first & 0x7F) << 8 | second
      // Each length must have its shortest form, or sizes would not add up.
      return length < 0x80 ? nil : length
    }
    guard let keyLength = length(), let valueLength = length(),
      keyLength + valueLength <= bytes.count - offset
    else { return nil }
    return offset - start + keyLength + valueLength
  }

  /// Returns the first problem of the keys, heads and values, which are within the page, or nil.
  private func problemWithOrder(valueLength: Int?) -> String? {
    for index in 0..<count {
      let entry = self.entry(index)
      guard entry.key.count >= prefixLength else {
        return "key \(index) is shorter than the prefix"
      }
      guard head(index) == entry.key.head(at: prefixLength) else {
        return "head \(index) does not match its key"
      }
      if let valueLength, entry.value.count != valueLength {
        return "value \(index) has a wrong length"
      }
      guard index > 0 else { continue }
      let previous = key(index - 1)
      guard previous.compare(entry.key) < 0 else {
        return "keys \(index - 1) and \(index) do not ascend"
      }
      guard previous.commonPrefixLength(with: entry.key) >= prefixLength else {
        return "keys \(index - 1) and \(index) do not share the prefix"
      }
    }
    return nil
  }
}

extension Node {
  /// The reason why the node's page is invalid, or nil.
  var problem: String? {
    let length = level == 0 ? nil : Node.childValueLength
    return unsafe withUnsafeMutablePointers { header, elements in
      // The page has `capacity` bytes.
      unsafe NodePage.problem(
        in: UnsafeRawBufferPointer(start: elements, count: header.pointee.capacity),
        valueLength: length)
    }
  }
}
