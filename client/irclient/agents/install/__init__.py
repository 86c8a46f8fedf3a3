"""Add this daemon to the settings of coding agents, and remove it again.

Files belong to their owner: what is there is kept to the byte, comments and order included.
`targets` has which entries belong in which file and finds hooks that cannot start, `entries`
recognises them, `json_file` and `toml_file` edit the text, `changes` replaces a file in one step.
"""
