"""Copies of corpora in PostgreSQL or Qdrant, and front ends that answer from them."""

from irdaemon.config.addons import AddOn

ADDON = AddOn()
