/// What happens to files that nobody writes: on the disk, and in what is read from now on.
///
/// What was not flushed in a file counts as flushed once it is damaged.
///
/// ```swift
/// for file in disk.filePaths {
///   let damaged = disk.restarted(.everything)
///   try damaged.corrupt(file, atOffset: 100, mask: 1)
///   // … open the database on `damaged`: everything is there, or it says what is damaged …
/// }
/// ```
extension SimulatedDisk {
  /// The paths of all files, in order.
  public var filePaths: [String] { files.filePaths }

  /// The bytes of a file as they are read now.
  ///
  /// - Throws: an error, if there is no such file.
  public func contents(of path: String) throws -> [UInt8] {
    try files.bytes(of: path)
  }

  /// Inverts the bits of `mask` in one byte of a file.
  ///
  /// - Throws: an error, if there is no such file or no such byte.
  public func corrupt(_ path: String, atOffset offset: Int, mask: UInt8) throws {
    try files.corrupt(path, atOffset: offset, mask: mask)
  }

  /// Cuts a file's end off, or extends it by zeros.
  ///
  /// - Throws: an error, if there is no such file.
  public func truncate(_ path: String, toSize size: Int) throws {
    try files.truncate(path, toSize: size)
  }

  /// Takes a file away as if it had never been.
  ///
  /// - Throws: an error, if there is no such file.
  public func vanish(_ path: String) throws {
    try files.vanish(path)
  }

  /// Puts a file where none is, as if it had always been there.
  ///
  /// - Throws: an error, if something has that name or there is no such directory.
  public func addFile(_ path: String, contents: [UInt8]) throws {
    try files.appear(path, contents)
  }

  /// A part of a file that is stored by itself.
  public struct Sector: Hashable, Sendable {
    /// The file.
    public var path: String
    /// Which sector of the file, counted from 0.
    public var index: Int
    /// The size of this sector and all before it.
    public var sizeBytes: Int

    /// Names a sector.
    ///
    /// - Parameters:
    ///   - index: which one of the file, counted from 0.
    ///   - path: the file.
    ///   - sizeBytes: the size of sectors.
    public init(_ index: Int, of path: String, sizeBytes: Int = 512) {
      self.path = path
      self.index = index
      self.sizeBytes = sizeBytes
    }
  }

  /// Makes a sector zeros, as a drive does that gave it up; only as much as lies within the file.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func zero(_ sector: Sector) throws {
    let count = try files.bytes(of: sector).count
    try files.put([UInt8](repeating: 0, count: count), at: sector)
  }

  /// Writes a sector's bytes to another place, too, where they overwrite what belongs there.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func duplicate(_ sector: Sector, over other: Sector) throws {
    let bytes = try files.bytes(of: sector)
    _ = try files.bytes(of: other)
    try files.put(bytes, at: other)
  }

  /// Lets a sector's last write have gone to another place: there it overwrites what belongs there,
  /// and at its own place stand zeros, as before it was written.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func misdirect(_ sector: Sector, to other: Sector) throws {
    try duplicate(sector, over: other)
    try zero(sector)
  }

  /// Exchanges the bytes of two sectors.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func exchange(_ sector: Sector, with other: Sector) throws {
    let (bytes, others) = (try files.bytes(of: sector), try files.bytes(of: other))
    try files.put(bytes, at: other)
    try files.put(others, at: sector)
  }
}
