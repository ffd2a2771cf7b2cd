extension ModelContext {
  /// Passes an error to the handler, and to the views that show errors.
  func report(_ error: any Error) {
    errorHandler?(error)
    core.errorReports?.add(error)
  }

  /// The errors for views to show, beginning with those of the live queries.
  var errorReports: ErrorReports {
    if let known = core.errorReports { return known }
    let made = ErrorReports()
    for live in core.liveQueries {
      if let error = live.query?.reportedError { made.add(error) }
    }
    core.errorReports = made
    return made
  }
}
