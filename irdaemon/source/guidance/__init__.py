"""Guidance: the files that people write for their agents, apart from skills.

Sub-agents, commands and rules are single files, recognised by their directory and their name;
plugins are directories that bring some of each.
"""
