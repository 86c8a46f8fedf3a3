"""The commands of `irdaemon`: a file for each, with HELP, `add_options` and `run`."""

COMMANDS = ("start", "restart", "stop", "status", "init", "fetch", "keys", "service", "version")

DONE, FAILED, WRONG, NOT_RUNNING = range(4)
