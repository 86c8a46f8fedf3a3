"""Documents that clients send, or write into their own directories."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    connections="irdaemon.contrib.documents.operations:DocumentStore",
    commands={"uninstall": "irdaemon.contrib.documents.files:find_trash"},
    operations=("irdaemon.contrib.documents.operations", "irdaemon.contrib.documents.writing"),
)
