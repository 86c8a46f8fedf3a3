"""The commands of `irdaemon`: a file for each, with HELP, `add_options` and `run`."""

COMMANDS = ("start", "restart", "stop", "status", "init", "fetch", "service", "doctor", "version")

DONE, FAILED, WRONG, NOT_RUNNING = range(4)
