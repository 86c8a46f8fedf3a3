"""Language models: they choose among hits, and write synopses of indexed artifacts."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    jobs={"synopsis": ("irdaemon.contrib.models.synopses:take_in", 4, True)},
    observer="irdaemon.contrib.models.observer:ModelObserver",
    background="irdaemon.contrib.models.synopses:make_background",
)
