"""Evaluation: measure the quality of answers on labelled queries (cases)."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=("irdaemon.contrib.evaluate.operations",),
    observer="irdaemon.contrib.evaluate.store:make_store",
)
