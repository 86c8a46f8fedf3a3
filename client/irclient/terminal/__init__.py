"""What both command lines, `irc` and `irdaemon`, share: help, output, tables, exit codes.

Of the client's programs `irdaemon.cli` may import only this package (tests/imports.toml).
"""
