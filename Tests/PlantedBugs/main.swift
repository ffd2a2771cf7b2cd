// Checks whether planted bugs are detected: `swift run -c release PlantedBugs`.
import Foundation

exit(PlantedBugsProgram(arguments: Array(CommandLine.arguments.dropFirst())).run())
