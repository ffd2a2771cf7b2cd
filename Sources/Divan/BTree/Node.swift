internal import DivanLog

/// The header of a node, which precedes its page.
///
/// It is sixteen bytes, so that the page after it is aligned.
@safe
struct NodeHeader {
  /// The size of the page in bytes.
  let capacity: Int
  /// The child left of the first separator, owned; nil in leaves.
  var firstChild: Unmanaged<Node>?
}

/// A node of a tree in memory: one allocation that contains the object and its page.
///
/// A node with more than one owner (two trees, a scan, bytes of a look-up) is never written
/// to: ``BTree`` copies it first. This makes it safe to share nodes between threads.
///
/// Invariants:
/// - An inner node owns one reference to each child: `firstChild`, and the value of each entry,
///   which is the child's address in eight bytes.
/// - The level of all children is one below the node's.
final class Node: ManagedBuffer<NodeHeader, UInt8> {
  deinit {
    if level > 0 {
      for index in 0...page.count {
        // The reference was owned by this node, and is released once.
        unsafe childReference(index).release()
      }
    }
  }
}

extension Node {
  /// Creates an empty node.
  static func make(level: Int, capacity: Int) -> Node {
    precondition(
      capacity <= NodePageWriter.capacityLimit, "The page is too large for two-byte offsets")
    // `create` returns an object of the class that it is called on.
    let node = unsafe unsafeDowncast(
      Node.create(minimumCapacity: capacity) { _ in
        unsafe NodeHeader(capacity: capacity, firstChild: nil)
      }, to: Node.self)
    node.writer.clear(level: level)
    return node
  }

  @inline(__always)
  var page: NodePage {
    // The page lives as long as `self`, which every caller retains while it uses the page.
    unsafe withUnsafeMutablePointerToElements { unsafe NodePage(base: UnsafeRawPointer($0)) }
  }

  /// The page for writing, if this node has only one reference.
  @inline(__always)
  var writer: NodePageWriter {
    unsafe withUnsafeMutablePointers { header, elements in
      unsafe NodePageWriter(
        base: UnsafeMutableRawPointer(elements), capacity: header.pointee.capacity)
    }
  }

  @inline(__always)
  var pageCapacity: Int {
    unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.capacity }
  }

  var level: Int { page.level }

  /// The number of bytes that the node's content needs.
  var usedSize: Int { page.usedSize(capacity: pageCapacity) }

  /// Returns the child at `index`, still owned by this node.
  @inline(__always)
  @unsafe func childReference(_ index: Int) -> Unmanaged<Node> {
    assert(level > 0)
    if index == 0 {
      return unsafe withUnsafeMutablePointerToHeader {
        // Every inner node has a first child.
        unsafe $0.pointee.firstChild.unsafelyUnwrapped
      }
    }
    return unsafe Node.reference(page.value(index - 1))
  }

  /// Returns the reference in an inner node's entry.
  @inline(__always)
  @unsafe private static func reference(_ value: BorrowedBytes) -> Unmanaged<Node> {
    let address = unsafe value.base.loadUnaligned(as: UInt.self)
    // The address was a node's when it was stored, and the entry has kept the node alive.
    return unsafe Unmanaged.fromOpaque(
      UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
  }

  /// Returns the child at `index`.
  func child(_ index: Int) -> Node {
    unsafe childReference(index).takeUnretainedValue()
  }
}

extension Node {
  /// Calls `body` with the child at `index`, which it may replace.
  ///
  /// The node must have no other references.
  @inline(__always)
  func withChild<R>(_ index: Int, _ body: (inout Node) -> R) -> R {
    // The node's own reference moves to the variable, so that a child without other references is
    // known to be unique. Afterwards it moves back. `body` cannot throw.
    let reference = unsafe childReference(index)
    var child = unsafe reference.takeRetainedValue()
    let result = body(&child)
    unsafe storeChild(Unmanaged.passRetained(child), at: index)
    return result
  }

  /// Sets the first child of a node that has none yet.
  func setFirstChild(_ child: Node) {
    unsafe storeChild(Unmanaged.passRetained(child), at: 0)
  }

  /// Overwrites the reference at `index` without releasing the old one.
  @unsafe private func storeChild(_ reference: Unmanaged<Node>, at index: Int) {
    if index == 0 {
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.firstChild = reference }
    } else {
      unsafe Node.borrowAddress(of: reference) { writer.overwrite(at: index - 1, with: $0) }
    }
  }

  @unsafe private static func borrowAddress<R>(
    of reference: Unmanaged<Node>, _ body: (BorrowedBytes) -> R
  ) -> R {
    let address = unsafe UInt(bitPattern: reference.toOpaque())
    return unsafe withUnsafeBytes(of: address) {
      // The copy of the address lives as long as the closure runs.
      unsafe body(BorrowedBytes(base: $0.baseAddress.unsafelyUnwrapped, count: $0.count))
    }
  }

  /// Inserts a separator and the child right of it at `index`, where they must fit.
  func insertChild(_ child: Node, separator: BorrowedBytes, at index: Int) {
    unsafe Node.borrowAddress(of: Unmanaged.passRetained(child)) {
      writer.insert(separator, $0, at: index)
    }
  }

  /// The size of the reference in an entry of an inner node, in bytes.
  static var childValueLength: Int { MemoryLayout<UInt>.size }

  /// Removes the child at `index` and the separator next to it; another child must remain.
  func removeChild(_ index: Int) {
    precondition(page.count > 0, "An inner node keeps one child")
    // The removed reference is released; the others stay in place.
    unsafe childReference(index).release()
    if index == 0 {
      let next = unsafe childReference(1)
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.firstChild = next }
      writer.remove(at: 0)
    } else {
      writer.remove(at: index - 1)
    }
  }

  /// Retains each child from `first` on, after the references were copied from another node.
  func retainChildren(from first: Int = 0) {
    guard level > 0 else { return }
    let end = page.count + 1
    for index in first..<end { _ = unsafe childReference(index).retain() }
  }

  /// Copies the reference to the first child from another node, without retaining it.
  func copyFirstChild(_ index: Int, of other: Node) {
    guard level > 0 else { return }
    let reference = unsafe other.childReference(index)
    unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.firstChild = reference }
  }
}
