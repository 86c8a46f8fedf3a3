"""Processes around an engine, as far as a test needs one."""

from irdaemon.engine.host import InProcess


class Writing(InProcess):
    """The host of an engine that has a writer of its own, and rebuilds what it loses."""

    writes = True
