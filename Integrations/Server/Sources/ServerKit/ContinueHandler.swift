import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Tells clients that wait for it that they may send the body of their request.
///
/// `curl` waits a second before it sends more than a mebibyte. A body that is longer than any that
/// is accepted is not asked for: the answer that refuses it comes first.
final class ContinueHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundOut = HTTPResponsePart

  private let sizeLimit: Int

  init(sizeLimit: Int) { self.sizeLimit = sizeLimit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data),
      head.headerFields[.expect]?.lowercased() == "100-continue",
      head.headerFields[.contentLength].flatMap({ Int($0) }) ?? 0 <= sizeLimit
    {
      let head = HTTPResponse(status: .continue)
      context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }
    context.fireChannelRead(data)
  }
}
