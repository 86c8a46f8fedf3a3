"""Documents that clients bring along, or have written into directories of their own."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=("irdaemon.contrib.documents.operations", "irdaemon.contrib.documents.writing")
)
