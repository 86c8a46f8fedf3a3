"""Recall: which files a session touched, and whether its turns still hold."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    commands={
        "backup": "irdaemon.contrib.recall.commands:back_up",
        "restore": "irdaemon.contrib.recall.commands:restore",
    },
    operations=("irdaemon.contrib.recall.operations",),
    observer="irdaemon.contrib.recall.observer:RecallObserver",
    options="irdaemon.contrib.recall.observer:make_options",
    background="irdaemon.contrib.recall.dating:make_background",
)
