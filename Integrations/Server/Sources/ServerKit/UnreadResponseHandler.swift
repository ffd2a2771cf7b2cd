import NIOCore

/// Closes a connection whose client does not read what is sent to it.
///
/// The bytes of responses wait while the client takes none, and so do further responses. It is the
/// connection that is watched, because small responses wait, too: a client can ask for thousands of
/// them at once, and read none.
final class UnreadResponseHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let timeout: TimeAmount
  /// Closes the connection unless it takes bytes before.
  private var closing: Scheduled<Void>?

  init(timeout: TimeAmount) { self.timeout = timeout }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let channel = context.channel
    if channel.isWritable {
      cancel()
    } else if closing == nil {
      closing = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
    }
    context.fireChannelWritabilityChanged()
  }

  func channelInactive(context: ChannelHandlerContext) {
    cancel()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { cancel() }

  private func cancel() {
    closing?.cancel()
    closing = nil
  }
}
