"""Write this daemon into the settings of coding agents, and take it out again.

Files belong to their owner: what is there is kept to the byte, comments and order included.
`agents` says what goes where, `entries` how it is put in and taken out, `changes` how that becomes
one safe replacement of a file.
"""
