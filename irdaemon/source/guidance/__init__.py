"""Guidance: what people write for their agents, apart from skills.

Sub-agents, commands and rules are single files, told by where they lie and what they are called;
plugins are directories that bring some of each.
"""
