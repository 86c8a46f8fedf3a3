"""Moments: when the hook speaks other than at a prompt, and which items a person wants offered."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=("irdaemon.contrib.moments.operations",),
    jobs={
        "prefer": ("irdaemon.contrib.moments.jobs:keep_preferences", 0, False),
        "fade": ("irdaemon.contrib.moments.jobs:fade_offers", 3, False),
    },
    observer="irdaemon.contrib.moments.observer:MomentsObserver",
)
