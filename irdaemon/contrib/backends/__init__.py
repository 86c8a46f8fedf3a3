"""Copies of corpora in PostgreSQL or Qdrant, and front ends that answer from them."""

from irdaemon.config.addons import AddOn

ADDON = AddOn(
    commands={"start --serve-only": "irdaemon.contrib.backends.front_process:FrontProcess"},
    observer="irdaemon.contrib.backends.observer:CopyObserver",
    background="irdaemon.contrib.backends.copying:make_background",
)
