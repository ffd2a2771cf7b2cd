internal import DivanLog

/// A page that may be written to: that of a node with one reference, or one for a file.
///
/// Invariant: `base` points at `capacity` writable bytes that have no other readers.
@safe
struct NodePageWriter {
  let base: UnsafeMutableRawPointer
  let capacity: Int

  init(base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe self.base = base
    self.capacity = capacity
  }

  var page: NodePage { unsafe NodePage(base: UnsafeRawPointer(base)) }
}

extension NodePageWriter {
  /// The size of the largest page that two-byte offsets can address.
  static let capacityLimit = 0xFFFF

  /// Makes the page empty.
  func clear(level: Int) {
    // The header is within the page.
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: NodePage.headerSize)
    unsafe base.storeBytes(of: UInt8(level), toByteOffset: 8, as: UInt8.self)
    set16(2, capacity)
  }

  /// The number of bytes between the slots and the entries.
  @inline(__always)
  var freeSize: Int {
    page.heapStart - NodePage.headerSize - NodePage.slotSize * page.count
  }

  /// Whether one more entry fits without moving others.
  @inline(__always)
  func fits(keyLength: Int, valueLength: Int) -> Bool {
    NodeEntry.size(keyLength: keyLength, valueLength: valueLength) + NodePage.slotSize <= freeSize
  }

  /// Sets the page left of the first separator, in files.
  func setFirstChild(_ number: UInt32) {
    unsafe base.storeBytes(of: number.littleEndian, toByteOffset: 12, as: UInt32.self)
  }

  @inline(__always)
  private func set16(_ offset: Int, _ value: Int) {
    // Callers pass offsets within the page; every value is at most `capacityLimit`.
    unsafe base.storeBytes(
      of: UInt16(truncatingIfNeeded: value).littleEndian, toByteOffset: offset, as: UInt16.self)
  }

  @inline(__always)
  private func setHead(_ index: Int, _ head: UInt32) {
    unsafe base.storeBytes(
      of: head.littleEndian, toByteOffset: NodePage.headerSize + 4 * index, as: UInt32.self)
  }
}

extension NodePageWriter {
  /// Inserts an entry at `index`, where its key belongs and where it must fit.
  @inline(__always)
  func insert(_ key: BorrowedBytes, _ value: BorrowedBytes, at index: Int) {
    assert(fits(keyLength: key.count, valueLength: value.count))
    adoptPrefix(of: key, at: index)
    let size = NodeEntry.size(keyLength: key.count, valueLength: value.count)
    let start = page.heapStart - size
    write(key, value, at: start)
    openSlot(at: index, head: key.head(at: page.prefixLength), start: start)
    set16(2, start)
  }

  /// Removes the entry at `index`; its bytes become garbage.
  func remove(at index: Int) {
    let count = page.count
    set16(4, page.garbage + page.entry(index).size)
    let heads = NodePage.headerSize
    let slots = heads + 4 * count
    // All moves are to lower addresses, within heads and slots: first the heads behind `index`,
    // then the slots before it, then those behind it.
    move(heads + 4 * (index + 1), to: heads + 4 * index, 4 * (count - index - 1))
    move(slots, to: slots - 4, 2 * index)
    move(slots + 2 * (index + 1), to: slots - 4 + 2 * index, 2 * (count - index - 1))
    set16(0, count - 1)
    if count == 1 {
      set16(2, capacity)
      set16(4, 0)
      set16(6, 0)
    }
  }

  /// Overwrites the value at `index` with one of the same length.
  @inline(__always)
  func overwrite(at index: Int, with value: BorrowedBytes) {
    let old = page.value(index)
    precondition(old.count == value.count, "The value has another length")
    // The old value is within this page, which may be written to.
    unsafe UnsafeMutableRawPointer(mutating: old.base).copyMemory(
      from: value.base, byteCount: value.count)
  }

  /// Shortens the shared prefix to the part that `key` shares, if that is less.
  @inline(__always)
  private func adoptPrefix(of key: BorrowedBytes, at index: Int) {
    let count = page.count
    if count == 0 {
      set16(6, key.count)
      return
    }
    // A key between two others shares what they share.
    if index != 0, index != count { return }
    let length = page.prefixLength
    if length == 0 { return }
    let common = page.key(0).prefix(length).commonPrefixLength(with: key)
    if common < length { setPrefix(common) }
  }

  /// Changes the length of the shared prefix, which all keys must share.
  func setPrefix(_ length: Int) {
    set16(6, length)
    for index in 0..<page.count { setHead(index, page.key(index).head(at: length)) }
  }

  @inline(__always)
  private func write(_ key: BorrowedBytes, _ value: BorrowedBytes, at start: Int) {
    var offset = start
    // The caller made room for the whole entry at `start`.
    func writeLength(_ length: Int) {
      if length >= 0x80 {
        unsafe base.storeBytes(
          of: UInt8(truncatingIfNeeded: length >> 8) | 0x80, toByteOffset: offset, as: UInt8.self)
        offset += 1
      }
      unsafe base.storeBytes(
        of: UInt8(truncatingIfNeeded: length), toByteOffset: offset, as: UInt8.self)
      offset += 1
    }
    writeLength(key.count)
    writeLength(value.count)
    unsafe (base + offset).copyMemory(from: key.base, byteCount: key.count)
    unsafe (base + offset + key.count).copyMemory(from: value.base, byteCount: value.count)
  }

  @inline(__always)
  private func openSlot(at index: Int, head: UInt32, start: Int) {
    let count = page.count
    let heads = NodePage.headerSize
    let slots = heads + 4 * count
    // All moves are to higher addresses, the last bytes first; the caller made room for six bytes.
    move(slots + 2 * index, to: slots + 2 * index + 6, 2 * (count - index))
    move(slots, to: slots + 4, 2 * index)
    move(heads + 4 * index, to: heads + 4 * (index + 1), 4 * (count - index))
    set16(0, count + 1)
    setHead(index, head)
    set16(slots + 4 + 2 * index, start)
  }

  @inline(__always)
  private func move(_ from: Int, to: Int, _ count: Int) {
    // Callers stay within heads and slots; overlap is allowed.
    unsafe (base + to).copyMemory(from: base + from, byteCount: count)
  }
}

extension NodePageWriter {
  /// Fills an empty page with the entries of `range` of another, in order and without garbage.
  ///
  /// The entries must fit.
  func fill(from source: NodePage, _ range: Range<Int>, sourceCapacity: Int) {
    assert(page.count == 0)
    if range.count == source.count, source.garbage == 0 {
      copyAll(of: source, sourceCapacity: sourceCapacity)
    } else {
      append(from: source, range)
    }
    setPrefix(page.commonPrefixLength(in: 0..<page.count))
  }

  /// Fills an empty page with `count` entries in the order of their keys, which must fit.
  ///
  /// `entry` is called with the number of each entry in turn, and passes its key and value on.
  @inline(__always)
  func fill(count: Int, _ entry: (Int, (BorrowedBytes, BorrowedBytes) -> Void) -> Void) {
    assert(page.count == 0)
    var start = page.heapStart
    let slots = NodePage.headerSize + 4 * count
    for number in 0..<count {
      entry(number) { key, value in
        start -= NodeEntry.size(keyLength: key.count, valueLength: value.count)
        write(key, value, at: start)
      }
      set16(slots + 2 * number, start)
    }
    set16(0, count)
    set16(2, start)
    setPrefix(page.commonPrefixLength(in: 0..<count))
  }

  /// Appends the entries of `range` of another page.
  ///
  /// They must fit, and a call of ``setPrefix(_:)`` must follow.
  func append(from source: NodePage, _ range: Range<Int>) {
    let old = page.count
    let new = old + range.count
    let oldSlots = NodePage.headerSize + 4 * old
    let newSlots = NodePage.headerSize + 4 * new
    move(oldSlots, to: newSlots, 2 * old)
    var start = page.heapStart
    var slot = newSlots + 2 * old
    for index in range {
      let entry = source.entry(index)
      start -= entry.size
      write(entry.key, entry.value, at: start)
      set16(slot, start)
      slot += 2
    }
    set16(0, new)
    set16(2, start)
  }

  private func copyAll(of source: NodePage, sourceCapacity: Int) {
    let count = source.count
    let heapSize = sourceCapacity - source.heapStart
    let slots = NodePage.headerSize + 4 * count
    // The caller made sure that the entries fit.
    unsafe (base + capacity - heapSize).copyMemory(
      from: source.base + source.heapStart, byteCount: heapSize)
    for index in 0..<count {
      set16(slots + 2 * index, source.slot(index) + capacity - sourceCapacity)
    }
    set16(0, count)
    set16(2, capacity - heapSize)
  }
}
