#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#else
  import Glibc
#endif

extension SystemError.Code {
  package static let notFound = Self(rawValue: ENOENT)
  package static let notADirectory = Self(rawValue: ENOTDIR)
  package static let isADirectory = Self(rawValue: EISDIR)
  package static let directoryNotEmpty = Self(rawValue: ENOTEMPTY)
  package static let exists = Self(rawValue: EEXIST)
  /// In use by another holder (`EBUSY`).
  package static let busy = Self(rawValue: EBUSY)
  package static let noAccess = Self(rawValue: EACCES)
  package static let notPermitted = Self(rawValue: EPERM)
  package static let noSpace = Self(rawValue: ENOSPC)
  /// The work was cancelled (`ECANCELED`).
  package static let cancelled = Self(rawValue: ECANCELED)
  package static let quotaExceeded = Self(rawValue: EDQUOT)
  package static let readOnlyFileSystem = Self(rawValue: EROFS)
  package static let inputOutput = Self(rawValue: EIO)
  package static let fileTooLarge = Self(rawValue: EFBIG)
  package static let tooManyOpenFiles = Self(rawValue: EMFILE)
  package static let tooManyOpenFilesInSystem = Self(rawValue: ENFILE)
  package static let invalidArgument = Self(rawValue: EINVAL)
  package static let nameTooLong = Self(rawValue: ENAMETOOLONG)
  package static let badDescriptor = Self(rawValue: EBADF)
  package static let staleHandle = Self(rawValue: ESTALE)
  package static let outOfMemory = Self(rawValue: ENOMEM)
  /// A symbolic link where none is allowed (`ELOOP`).
  package static let symbolicLink = Self(rawValue: ELOOP)
  /// A file that has other names, too (`EMLINK`).
  package static let tooManyLinks = Self(rawValue: EMLINK)
  package static let interrupted = Self(rawValue: EINTR)
}

extension SystemError.Code: CustomStringConvertible {
  /// The system's text for this error number.
  package var description: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      // Zeroed and one byte longer than the C library knows, so the text is always terminated.
      unsafe buffer.initialize(repeating: 0)
      // Memory that is not empty has an address.
      let start = unsafe buffer.baseAddress.unsafelyUnwrapped
      guard unsafe strerror_r(rawValue, start, buffer.count - 1) == 0 else {
        return "error \(rawValue)"
      }
      return unsafe String(cString: start)
    }
  }
}
