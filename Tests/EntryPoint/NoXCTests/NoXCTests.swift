// A target beside XCTMain.swift, so that the package manager finds that file.
