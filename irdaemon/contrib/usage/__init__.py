"""Use: what was asked, what was used of what is indexed, and what is learned from it."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(operations=("irdaemon.contrib.usage.operations",))
