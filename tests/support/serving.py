"""A request's way through the daemon without its sockets: bytes in, bytes out."""

import os

from irclient import wire
from irclient.errors import IRError
from irdaemon.serve.access import Peer
from irdaemon.serve.ops import OPS, ServeRules, fill_args, handle, read_request

OWN = Peer(uid=os.getuid())


def unpack_reply(data):
    """Return the id and the result of a reply, or raise the error it carries."""
    reply = wire.read_reply(data)
    return reply.id, reply.unwrap()


def handled(engine, data, rules=None, peer=OWN):
    """Return the reply to bytes from a peer; without rules, to one who may ask for everything."""
    rules = rules or ServeRules()
    try:
        request, scope = read_request(data, rules, peer)
    except IRError as error:
        return wire.pack_error(0, error)
    return handle(engine, request, scope, rules.serve)


def run(op, engine, args):
    """Return what an operation gives for the arguments of a request, before it is plain data."""
    return OPS[op].run(engine, fill_args(op, args))
