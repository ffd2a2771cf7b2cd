// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Divan",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Divan", targets: ["Divan"]),
    .library(name: "DivanSync", targets: ["DivanSync"]),
    .library(name: "DivanTesting", targets: ["DivanTesting"]),
    .library(name: "DivanSyncTesting", targets: ["DivanSyncTesting"]),
    .executable(name: "logdump", targets: ["logdump"]),
  ],
  targets: [
    .target(name: "DivanLog"),
    .target(name: "Divan", dependencies: ["DivanLog"]),
    .target(name: "DivanSync", dependencies: ["Divan", "DivanLog"]),
    .target(name: "DivanTesting", dependencies: ["Divan", "DivanLog"]),
    .target(name: "DivanSyncTesting", dependencies: ["DivanSync", "DivanTesting"]),
    .executableTarget(name: "logdump", dependencies: ["Divan", "DivanLog"]),
    .executableTarget(name: "quickstart", dependencies: ["Divan"]),
    .executableTarget(
      name: "film-notes", dependencies: ["Divan", "DivanSync"], path: "Examples/FilmNotes"),
    .executableTarget(
      name: "Benchmarks", dependencies: ["Divan", "DivanLog", "DivanSync"], path: "Benchmarks",
      exclude: ["README.md", "Peers"]),

    .target(
      name: "TestSupport", dependencies: ["Divan", "DivanLog", "DivanTesting"],
      path: "Tests/TestSupport"),
    .target(
      name: "ProofKit",
      dependencies: ["Divan", "DivanLog", "DivanTesting", "DivanSync", "DivanSyncTesting"],
      path: "Tests/ProofKit"),
    .target(
      name: "FuzzTargets",
      dependencies: ["Divan", "DivanLog", "DivanSync", "DivanTesting", "ProofKit"],
      path: "Tests/Fuzzers/Targets"),
    .executableTarget(name: "PlantedBugs", path: "Tests/PlantedBugs"),
    .executableTarget(
      name: "Proofs", dependencies: ["ProofKit", "OtherProcess"], path: "Tests/Proofs"),
    .executableTarget(
      name: "SyncServer", dependencies: ["DivanSync", "Divan", "TestSupport"],
      path: "Tests/SyncServer"),
    .executableTarget(
      name: "OtherProcess", dependencies: ["Divan", "ProofKit"], path: "Tests/OtherProcess"),
    .testTarget(
      name: "DivanLogTests",
      dependencies: ["DivanLog", "Divan", "DivanTesting", "ProofKit", "TestSupport"]),
    .testTarget(
      name: "DivanTests",
      dependencies: [
        "Divan", "DivanLog", "DivanTesting", "FuzzTargets", "ProofKit", "TestSupport",
        "OtherProcess",
      ]),
    .testTarget(
      name: "ConcurrencyTests",
      dependencies: ["Divan", "DivanLog", "DivanTesting", "ProofKit", "TestSupport"]),
    .testTarget(
      name: "logdumpTests",
      dependencies: ["logdump", "Divan", "DivanLog", "DivanTesting", "ProofKit", "TestSupport"]),
    .testTarget(
      name: "DivanSyncTests",
      dependencies: [
        "DivanSync", "Divan", "DivanTesting", "DivanSyncTesting", "ProofKit", "SyncServer",
        "TestSupport",
      ]),
    .testTarget(name: "DivanTestingTests", dependencies: ["Divan", "DivanTesting"]),
    .testTarget(
      name: "FilmNotesTests",
      dependencies: [
        "film-notes", "Divan", "DivanSync", "DivanTesting", "SyncServer", "TestSupport",
      ],
      exclude: ["Fixtures"]),
    .testTarget(name: "TidyTests", dependencies: ["PlantedBugs"]),
  ],
  swiftLanguageModes: [.v6]
)

// For fuzzing: `Tests/fuzz` and the copy with planted bugs set this to the path of libFuzzer without its
// `main`. Its flag cannot be that of a whole build: it would link a second `main` into the other programs.
if let libFuzzer = Context.environment["DIVAN_FUZZ"] {
  package.targets.append(
    .executableTarget(
      name: "Fuzzer", dependencies: ["FuzzTargets"], path: "Tests/Fuzzers/Fuzzer"))
  for target in package.targets {
    switch target.name {
    case "DivanLog", "Divan", "DivanSync":
      target.swiftSettings = [.unsafeFlags(["-sanitize=fuzzer"])]
    case _ where target.type == .executable:
      target.linkerSettings = [.unsafeFlags([libFuzzer, "-lstdc++", "-lm"])]
    default: break
    }
  }
}

// The thread sanitizer watches these, and of the proofs only what the tests of concurrency run. The
// rest would have to be built for it, too.
if Context.environment["DIVAN_THREADS"] != nil {
  let watched = [
    "DivanLog", "Divan", "DivanTesting", "ProofKit", "TestSupport", "ConcurrencyTests",
  ]
  package.targets.removeAll { !watched.contains($0.name) }
  package.products.removeAll { !watched.contains($0.name) }
  for target in package.targets where target.name == "ProofKit" {
    target.dependencies = ["Divan", "DivanLog", "DivanTesting"]
    target.sources = ["Live", "Running", "Threads"]
  }
}

// For the Makefile and `.ci` only, whose builds of tests make no index: Tests/EntryPoint/XCTMain.swift
// says why. `swift test` then needs the options of `SWIFT_TESTING` in the Makefile.
if Context.environment["DIVAN_NO_INDEX"] != nil {
  package.targets.append(.testTarget(name: "NoXCTests", path: "Tests/EntryPoint/NoXCTests"))
}

// For the Makefile only, which optimizes what the tests run, and not the tests. Packages that depend on
// this one do not set the variable: the package manager would refuse these flags there.
if Context.environment["DIVAN_OPTIMIZE", default: ""] != "" {
  let tested = [
    "DivanLog", "Divan", "DivanSync", "DivanTesting", "DivanSyncTesting", "ProofKit", "TestSupport",
    // These tests look at each byte of all sources.
    "TidyTests",
  ]
  for target in package.targets where tested.contains(target.name) {
    target.swiftSettings = [.unsafeFlags(["-O", "-assert-config", "Debug"])]
  }
  // A release build compiles a module as a whole, on one core, which takes the tests twice the time.
  // `PlantedBugs` is mostly a long list of texts, which takes longer to optimize than to use. The more
  // macros a process of the compiler expands, the longer each takes, so there are several batches.
  for target in package.targets
  where target.name.hasSuffix("Tests") && !tested.contains(target.name)
    || target.name == "PlantedBugs"
  {
    target.swiftSettings = [
      .unsafeFlags([
        "-Onone", "-no-whole-module-optimization", "-enable-batch-mode", "-driver-batch-count",
        "12",
      ])
    ]
  }
}

for target in package.targets {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .strictMemorySafety(),
    ]
}
