/// Damage to files without any write: on the disk, and in all later reads.
///
/// Unflushed bytes of a file count as flushed once it is damaged.
///
/// ```swift
/// for file in disk.filePaths {
///   let damaged = disk.restarted(.everything)
///   try damaged.corrupt(file, atOffset: 100, mask: 1)
///   // … open the database on `damaged`: everything is there, or it reports the damage …
/// }
/// ```
extension SimulatedDisk {
  /// The paths of all files, in order.
  public var filePaths: [String] { files.filePaths }

  /// Returns the bytes of a file as they are read now.
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

  /// Cuts off a file's end, or extends the file by zeros.
  ///
  /// - Throws: an error, if there is no such file.
  public func truncate(_ path: String, toSize size: Int) throws {
    try files.truncate(path, toSize: size)
  }

  /// Removes a file as if it had never existed.
  ///
  /// - Throws: an error, if there is no such file.
  public func vanish(_ path: String) throws {
    try files.vanish(path)
  }

  /// Adds a file as if it had always existed.
  ///
  /// - Throws: an error, if something has that name or there is no such directory.
  public func addFile(_ path: String, contents: [UInt8]) throws {
    try files.appear(path, contents)
  }

  /// A part of a file that a drive stores as a unit.
  ///
  /// ```swift
  /// for path in disk.filePaths where path.hasSuffix(".segment") {
  ///   try disk.zero(SimulatedDisk.Sector(9, of: path))
  /// }
  /// ```
  public struct Sector: Hashable, Sendable {
    /// The file.
    public var path: String
    /// The index of the sector in the file, counted from 0.
    public var index: Int
    /// The size of this sector, and of each one before it.
    public var sizeBytes: Int

    /// Creates a reference to a sector.
    ///
    /// - Parameters:
    ///   - index: the index of the sector in the file, counted from 0.
    ///   - path: the file.
    ///   - sizeBytes: the size of sectors.
    public init(_ index: Int, of path: String, sizeBytes: Int = 512) {
      self.path = path
      self.index = index
      self.sizeBytes = sizeBytes
    }
  }

  /// Fills a sector with zeros, as a drive that gave it up does; only the part within the file.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func zero(_ sector: Sector) throws {
    let count = try files.bytes(of: sector).count
    try files.put([UInt8](repeating: 0, count: count), at: sector)
  }

  /// Writes a sector's bytes over another sector, too.
  ///
  /// - Throws: an error, if there is no such file or sector.
  public func duplicate(_ sector: Sector, over other: Sector) throws {
    let bytes = try files.bytes(of: sector)
    _ = try files.bytes(of: other)
    try files.put(bytes, at: other)
  }

  /// Moves a sector's last write to another sector, where it overwrites the bytes.
  ///
  /// The sector itself then contains zeros, as before it was written.
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
