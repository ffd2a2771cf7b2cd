import Foundation
import ServerKit

/// The program: it serves stores, or changes a file of users.
@main
struct DivanServer {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case nil, "--help", "help": print(ServerOptions.help)
      case "add-user", "remove-user":
        print(try UserCommand.run(arguments, readPassword: PasswordPrompt.read))
      default:
        let options = try ServerOptions(arguments)
        try await Server(options, log: { log($0) }).run()
      }
    } catch {
      FileHandle.standardError.write(Data("DivanServer: \(error)\n".utf8))
      exit(1)
    }
  }

  /// Writes a line at once, also if the output is a file.
  private static func log(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
