// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "DivanServer",
  platforms: [.macOS(.v15)],
  dependencies: [
    // The path does not determine a directory name, so the package's own name is given.
    .package(name: "Divan", path: "../.."),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird.git", exact: "2.28.1",
      traits: ["FullFoundation"]),
    // What Hummingbird is made of, and what is imported beside it.
    .package(
      url: "https://github.com/apple/swift-http-types.git",
      .upToNextMinor(from: "1.8.0")),
    .package(
      url: "https://github.com/apple/swift-log.git",
      .upToNextMinor(from: "1.16.2")),
    .package(
      url: "https://github.com/apple/swift-nio.git",
      .upToNextMinor(from: "2.101.2")),
    .package(
      url: "https://github.com/apple/swift-nio-extras.git",
      .upToNextMinor(from: "1.35.2")),
    .package(
      url: "https://github.com/apple/swift-nio-ssl.git",
      .upToNextMinor(from: "2.37.6")),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle.git",
      .upToNextMinor(from: "2.13.0")),
  ],
  targets: [
    .target(
      name: "ServerKit",
      dependencies: [
        .product(name: "Divan", package: "Divan"),
        .product(name: "DivanSync", package: "Divan"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdTLS", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
    .executableTarget(name: "DivanServer", dependencies: ["ServerKit"]),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "ServerKit", "DivanServer", .product(name: "NIOCore", package: "swift-nio"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
  ]
}
