import Divan
import DivanLog
import DivanTesting
import ProofKit
import Testing

/// Parts of files that pass through a cipher. FILE_FORMAT.md §21
@Suite struct FileEncryptionTests {
  private let cipher = TestCipher(secret: 5)
  private let bytes = SharedBytes(copying: [UInt8](1...40))

  private func encryption(store: UInt64 = 1) -> FileEncryption {
    FileEncryption(cipher, keyID: cipher.keyID, storeID: StoreID(high: store, low: 2))
  }

  private func sealed(_ part: FileEncryption.Part) -> SharedBytes {
    var writer = ByteWriter()
    encryption().seal(bytes, as: part, to: &writer)
    return writer.sharedCopy
  }

  private func isOpened(
    _ sealed: SharedBytes, as part: FileEncryption.Part, by encryption: FileEncryption? = nil
  ) -> Bool {
    (try? sealed.opened(part, by: encryption ?? self.encryption())) == bytes
  }

  @Test func `a sealed part is longer by a nonce and a tag, and opens in its context`() throws {
    let part = FileEncryption.Part.record(kind: 1)
    let sealed = sealed(part)
    #expect(sealed.count == bytes.count + FileEncryption.overhead)
    #expect(isOpened(sealed, as: part))
    #expect(try sealed.opened(part, by: nil) == sealed)
  }

  @Test func `a part in another place is not authentic`() {
    let digest = SHA256.digest(of: bytes)
    let parts: [FileEncryption.Part] = [
      .record(kind: 1), .record(kind: 2), .frame(kind: 5, offset: 4096, salt: 7),
      .frame(kind: 6, offset: 4096, salt: 7), .frame(kind: 5, offset: 8192, salt: 7),
      .frame(kind: 5, offset: 4096, salt: 8), .blob(digest),
      .blob(SHA256.digest(of: .empty)), .piece(index: 0, salt: BlobSalt(high: 1, low: 2)),
      .piece(index: 1, salt: BlobSalt(high: 1, low: 2)),
      .piece(index: 0, salt: BlobSalt(high: 1, low: 3)),
    ]
    for (index, part) in parts.enumerated() {
      let sealed = sealed(part)
      for (other, place) in parts.enumerated() {
        #expect(isOpened(sealed, as: place) == (index == other), "\(part) as \(place)")
      }
    }
  }

  @Test func `a part of another store, or sealed with another key, is not authentic`() {
    let part = FileEncryption.Part.record(kind: 1)
    #expect(!isOpened(sealed(part), as: part, by: encryption(store: 9)))
    let other = TestCipher(secret: 6)
    let stranger = FileEncryption(other, keyID: other.keyID, storeID: StoreID(high: 1, low: 2))
    #expect(!isOpened(sealed(part), as: part, by: stranger))
  }

  @Test func `every changed, missing or added byte is noticed`() {
    let part = FileEncryption.Part.frame(kind: 5, offset: 4096, salt: 7)
    let sealed = sealed(part).array
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << UInt8(bit)
        #expect(!isOpened(SharedBytes(copying: changed), as: part), "bit \(bit) of byte \(index)")
      }
      #expect(!isOpened(SharedBytes(copying: Array(sealed[..<index])), as: part))
    }
    #expect(!isOpened(SharedBytes(copying: sealed + [0]), as: part))
  }

  @Test func `a record is found by its checksum, and damage without the key`() throws {
    var writer = ByteWriter()
    for size in [0, 1, 90, 130, 20_000] {
      let start = writer.count
      let written = Record.append(kind: .document, to: &writer, encryptedBy: encryption()) {
        $0.appendZeros(size)
      }
      let record = writer.copy(from: start)
      #expect(record.count == written)
      // The checksum covers the sealed bytes.
      let found = try record.withSpan { (bytes) throws(ByteError) in
        try Record.checkWhole(bytes)
      }
      #expect(found.payload.count == size + FileEncryption.overhead)
      let decoded = try Record.decode(record, encryptedBy: encryption())
      #expect(decoded.0.payload == SharedBytes(copying: [UInt8](repeating: 0, count: size)))
    }
    let search = RecordSearch(writer.sharedCopy, encryptedBy: encryption())
    var position = 0
    var count = 0
    while let found = search.next(from: position) {
      position = found.position + found.size
      count += 1
    }
    #expect(count == 5)
  }

  @Test func `a search passes over whole records that are not authentic`() throws {
    var writer = ByteWriter()
    _ = Record.append(kind: .document, to: &writer, encryptedBy: nil) { $0.appendZeros(60) }
    let forgedSize = writer.count
    _ = Record.append(kind: .document, to: &writer, encryptedBy: encryption()) {
      $0.appendZeros(60)
    }
    let search = RecordSearch(writer.sharedCopy, encryptedBy: encryption())
    #expect(search.next(from: 0)?.position == forgedSize)
    #expect(search.record(at: 0) == nil)
  }
}
