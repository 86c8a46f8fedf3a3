"""Use: what was asked, what was used of what is indexed, and what is learned from it."""
