import Divan

/// The money of one person.
final class Account: Model {
  override class var documentType: String? { "account" }
  @Persisted var balance = 0
}

/// Money that was moved from one account to another.
final class Transfer: Model {
  override class var documentType: String? { "transfer" }
  @Persisted var amount = 0
  @Persisted var payer = ""
  @Persisted var payee = ""
}

/// The part of an application that keeps its users' money: no money is made, and none is lost.
struct Ledger {
  static let path = "/ledger.divan"
  let database: Database

  /// Opens the ledger, or creates one with 100 for each of three accounts.
  init(configuration: Configuration) throws {
    database = try Database(at: Ledger.path, configuration: configuration)
    guard try database.snapshot().count == 0 else { return }
    let context = database.makeContext()
    for name in ["ann", "bob", "cy"] { Account(in: context, id: name).balance = 100 }
    try context.save()
  }

  /// Moves money and records the transfer: both, or neither if an error is thrown.
  func move(_ amount: Int, from payer: String, to payee: String) throws {
    let context = database.makeContext()
    try context.model(Account.self, id: payer)?.balance -= amount
    try context.model(Account.self, id: payee)?.balance += amount
    let transfer = Transfer(in: context)
    (transfer.amount, transfer.payer, transfer.payee) = (amount, payer, payee)
    try context.save()
  }

  /// The number of transfers.
  func countTransfers() throws -> Int {
    try database.makeContext().models(Transfer.self).collect().count
  }

  /// The sum of all balances.
  func sum() throws -> Int {
    try database.makeContext().models(Account.self).collect().reduce(0) { $0 + $1.balance }
  }
}
