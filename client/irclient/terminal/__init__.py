"""What both command lines share, `irc` and `irdaemon`: help, output, tables, exit codes.

Of the client's programs `irdaemon.cli` may import this package alone (tests/imports.toml).
"""
