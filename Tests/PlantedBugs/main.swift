// Sees whether planted bugs are noticed: `swift run -c release PlantedBugs`.
import Foundation

exit(PlantedBugsProgram(arguments: Array(CommandLine.arguments.dropFirst())).run())
