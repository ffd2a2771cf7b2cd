import Divan

/// Returns the code of the error that a closure throws, or nil if it throws none.
func code(_ body: () throws -> Void) -> DatabaseError.Code? {
  do { try body() } catch let error as DatabaseError { return error.code } catch {}
  return nil
}
