"""Use: the queries asked, the indexed items used, and what is learned from both."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    commands={
        "backup": "irdaemon.contrib.usage.commands:back_up",
        "restore": "irdaemon.contrib.usage.commands:restore",
    },
    operations=("irdaemon.contrib.usage.operations",),
    jobs={
        "learn": ("irdaemon.contrib.usage.observer:learn_corpus", 3, True),
        "roll_back": ("irdaemon.contrib.usage.observer:roll_back_corpus", 3, True),
        "unlearn": ("irdaemon.contrib.usage.observer:forget_learned", 3, False),
    },
    observer="irdaemon.contrib.usage.observer:UsageObserver",
    options="irdaemon.contrib.usage.observer:make_options",
)
