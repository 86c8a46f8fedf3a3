"""What all results have in common: conversion from and to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any, TypeVar

from irclient.types import Plain, plain_data

R = TypeVar("R", bound="Result")


class Result(Plain):
    """Convert a result from plain data."""

    __slots__ = ()

    @classmethod
    def from_dict(cls: type[R], data: Mapping[str, Any]) -> R:
        """Build a result from plain data; raise TypeError where what names it is missing."""
        return cls(**cls.select_fields(data))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, without the optional ones that are None."""
        items = ((f, getattr(self, f.name)) for f in fields_of(self))  # type: ignore[arg-type]
        return {
            f.name: plain_data(value)
            for f, value in items
            if value is not None or not f.metadata.get("optional")
        }
