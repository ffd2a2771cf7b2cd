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
        let output = LineOutput(.standardOutput)
        try await Server(options, log: { output.write($0) }).run()
      }
    } catch {
      LineOutput(.standardError).write("DivanServer: \(error)")
      exit(1)
    }
  }
}
