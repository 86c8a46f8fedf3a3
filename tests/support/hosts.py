"""Processes around an engine, as far as a test needs one."""

from irdaemon.engine.host import Library


class Writing(Library):
    """The host of an engine that has a writer of its own, and rebuilds what it loses."""

    writes = True
