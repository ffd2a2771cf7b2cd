// The code of Sources/Divan/Divan.docc/UsingSwiftUI.md, which `Tests/other-systems` type-checks. A
// test compares the two.

import Divan
import SwiftUI

class TodoList: Model {
  @Persisted var name = ""
}

class Todo: Model {
  @Persisted var text = ""
  @Persisted var done = false
  @Persisted var due: Date?
  @Persisted var list: TodoList?
}

let todoSchema = Schema(Todo.self, TodoList.self)

@main struct TodoApp: App {
  @Environment(\.scenePhase) private var scenePhase
  private let database = Result {
    try Database(
      url: URL.applicationSupportDirectory.appending(path: "Todos.divan"), schema: todoSchema)
  }

  var body: some Scene {
    WindowGroup {
      switch database {
      case .success(let database): TodoScreen().divan(database, autosavingAfter: .seconds(1))
      case .failure(let error): Text(verbatim: "\(error)")
      }
    }
    .onChange(of: scenePhase) { _, phase in
      do {
        switch phase {
        case .background: try database.get().suspend()
        case .active: try database.get().resume()
        default: break  // A scene is inactive on its way to both.
        }
      } catch {
        print("The database: \(error)")
      }
    }
  }
}

struct TodoScreen: View {
  static let open = Query<Todo>().filter { !$0.done }.sorted(by: \.due)

  @Live(open, animation: .default) private var todos
  @Environment(\.divan) private var context
  @State private var search = ""

  var body: some View {
    List(todos) { todo in TodoRow(todo: todo) }
      .searchable(text: $search)
      .onChange(of: search) {
        $todos.query = TodoScreen.open.filter {
          $0.text.containsText(search, ignoring: .caseAndDiacritics)
        }
      }
      .toolbar {
        Button("Add") { Todo(in: context).text = "New" }
      }
      .divanErrors()
  }
}

struct TodoRow: View {
  @Bindable var todo: Todo

  var body: some View {
    Toggle(todo.text, isOn: $todo.done)
    TextField("Text", text: $todo.text)
  }
}

struct ListScreen: View {
  @Live private var todos: [Todo]

  init(list: TodoList) {
    _todos = Live(Query<Todo>().filter { $0.list == list }, loadsInBackground: true)
  }

  var body: some View {
    if $todos.isLoading { ProgressView() }
    List(todos) { todo in TodoRow(todo: todo) }
  }
}

let sampleTodos = PreviewStore.preview(todoSchema) { context in
  for text in ["Buy milk", "Water the plants"] { Todo(in: context).text = text }
}

// The preview of the page; the macro `#Preview` needs Xcode.
@MainActor func previewOfScreen() -> some View { TodoScreen().divan(sampleTodos) }

struct EditButton: View {
  let todo: Todo
  @Environment(\.divan) private var context
  @State private var draft: Draft?

  var body: some View {
    Button("Edit") { draft = try? Draft(of: todo, in: context) }
      .sheet(item: $draft) { draft in TodoEditor(todo: draft.todo) }
  }
}

/// A todo in a context of its own, which discards what was not saved when it is released.
@MainActor struct Draft: Identifiable {
  let id: String
  let context: ModelContext
  let todo: Todo

  init?(of todo: Todo, in context: ModelContext) throws {
    guard let database = context.database else { return nil }
    self.context = database.makeFollowingContext()
    id = todo.id
    guard let todo = try self.context.model(todo.modelID) else { return nil }
    self.todo = todo
  }
}

struct TodoEditor: View {
  @Bindable var todo: Todo
  @Environment(\.dismiss) private var dismiss
  @State private var problem: String?

  var body: some View {
    TextField("Text", text: $todo.text)
    if let problem { Text(verbatim: problem) }
    Button("Save", action: save)
    Button("Cancel") { dismiss() }
  }

  private func save() {
    Task {
      do {
        try await todo.save()
        dismiss()
      } catch {
        problem = "\(error)"
      }
    }
  }
}
