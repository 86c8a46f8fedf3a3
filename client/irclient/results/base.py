"""What all results have in common: conversion from and to plain data."""

from __future__ import annotations

from irclient.types import Plain


class Result(Plain):
    """What an operation returns."""

    __slots__ = ()
