"""Moments: events besides prompts at which the hook speaks, and preferences for items."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=("irdaemon.contrib.moments.operations",),
    jobs={
        "prefer": ("irdaemon.contrib.moments.jobs:keep_preferences", 0, False),
        "fade": ("irdaemon.contrib.moments.jobs:fade_offers", 3, False),
    },
    observer="irdaemon.contrib.moments.observer:MomentsObserver",
)
