// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Peers",
  platforms: [.macOS(.v15)],
  dependencies: [
    // The path does not determine a directory name, so the package's own name is given.
    .package(name: "Divan", path: "../.."),
    .package(url: "https://github.com/groue/GRDB.swift.git", exact: "7.10.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CRocksDB", pkgConfig: "rocksdb",
      providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
    .target(name: "CChecksum"),
    .executableTarget(
      name: "Peers",
      dependencies: [
        "CSQLite", "CLMDB", "CRocksDB", "CChecksum",
        .product(name: "Divan", package: "Divan"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
