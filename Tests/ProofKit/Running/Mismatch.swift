/// A difference between what a store shows and what it must show.
package struct Mismatch: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
