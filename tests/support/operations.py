"""Operations asked of an engine in this process, as a client's request would be."""

from irclient.types import plain_data
from irclient.wire import Request, read_reply
from irdaemon.config.sections import ServeConfig
from irdaemon.serve.access import WHOLE
from irdaemon.serve.ops import handle


def ask(made, op, scope=WHOLE, **args):
    """Return an operation's result as plain data, once its jobs are done; raise its error."""
    reply = read_reply(handle(made, Request(1, op, args), scope, ServeConfig()))
    if reply.error is not None:
        raise reply.error
    made.drain()
    return plain_data(reply.result)
