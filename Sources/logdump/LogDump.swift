package import Divan
package import DivanLog

/// The tool: arguments in, lines and an exit status out.
package struct LogDump {
  let fileSystem: any FileSystem
  let output: Output
  let problems: Output
  /// The configuration of `salvage`'s new store; tests set its clock and its random numbers.
  package var salvageConfiguration = Configuration()
  /// Shows the progress of work that takes long.
  package var progress = Progress(nil)

  /// Writes answers to `output`, and everything else to `problems`.
  package init(fileSystem: any FileSystem, output: Output, problems: Output) {
    self.fileSystem = fileSystem
    self.output = output
    self.problems = problems
  }
}

extension LogDump {
  /// Runs the command in the arguments, which are without the program's name.
  package func run(_ arguments: [String]) -> ExitStatus {
    do {
      defer {
        progress.clear()
        try? problems.flush()
      }
      let status = try answer(arguments)
      try output.flush()
      return status
    } catch let error as SystemError where error.code == .brokenPipe {
      // The reader of the output has read enough.
      return .sound
    } catch {
      // The answer from before the error is still worth reading. If it cannot be written either,
      // the exit status shows the error.
      try? output.flush()
      try? problems.line("logdump: \(ExitStatus.explain(error))")
      if error is UsageError { try? problems.line("See `logdump --help`.") }
      try? problems.flush()
      return ExitStatus(error)
    }
  }

  private func answer(_ arguments: [String]) throws -> ExitStatus {
    let options = try Options(arguments)
    if options.wantsHelp {
      try output.line(Options.help)
      return .sound
    }
    if options.wantsVersion {
      try output.line(Options.version)
      return .sound
    }
    switch options.command {
    case .info: return try info(options)
    case .ls: return try list(options)
    case .frames: return try frames(options)
    case .tx: return try transactions(options)
    case .doc: return try document(options)
    case .att: return try attachments(options)
    case .stats: return try statistics(options)
    case .verify: return try verify(options)
    case .export: return try export(options)
    case .salvage: return try salvage(options)
    case .report: return try report(options)
    }
  }

  /// Writes an answer in the requested form.
  func say(_ options: Options, _ fields: [(String, JSONNode)], _ text: @autoclosure () -> String)
    throws
  {
    try output.line(options.isJSON ? JSONNode.fields(fields).json : text())
  }

  /// Writes text for people only, such as the heads and totals of tables.
  func sayToPeople(_ options: Options, _ text: @autoclosure () -> String) throws {
    if !options.isJSON { try output.line(text()) }
  }

  /// Builds the index from all segments of a log.
  func index(of log: OpenedLog) throws -> InspectedIndex {
    var index = InspectedIndex()
    for (number, segment) in log.segments.enumerated() {
      progress.step("Reading segment \(number + 1) of \(log.segments.count)")
      try index.add(segment)
    }
    return index
  }

  /// Opens the store as any reader opens it.
  func openDatabase(_ options: Options) throws -> Database {
    var configuration = Configuration()
    configuration.isReadOnly = true
    // Damage is reported separately.
    configuration.damage = .salvage
    configuration.readMode = .buffered
    configuration.maintenance = .manual
    configuration.fileSystem = fileSystem
    return try Database(at: options.store, configuration: configuration)
  }
}
