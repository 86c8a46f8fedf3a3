"""Evaluation: how good answers are, by cases of queries and what answers them."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    operations=("irdaemon.contrib.evaluate.operations",),
    observer="irdaemon.contrib.evaluate.store:make_store",
)
