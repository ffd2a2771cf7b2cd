#if canImport(os)
  public import Foundation

  // Type-checked against declarations, and never run: see `Tests/other-systems`.

  extension DatabaseError: CustomNSError {
    /// The domain of the `NSError` that the error becomes: `Divan.DatabaseError`.
    ///
    /// Crash reporters group errors by their domain and their code.
    public static var errorDomain: String { "Divan.DatabaseError" }

    /// The code's ``Code/number``.
    public var errorCode: Int { code.number }

    /// The code's name, and the path of the affected file.
    public var errorUserInfo: [String: Any] {
      var info: [String: Any] = ["DivanErrorCode": code.description]
      info[NSFilePathErrorKey] = path
      return info
    }
  }
#endif
