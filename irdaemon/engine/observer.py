"""What an add-on sees of an engine, and adds to it: see `irdaemon.config.addons`."""

from __future__ import annotations


class Observer:
    """An add-on's part beside one engine. What a method here does is nothing; it overrides some."""

    def forget_corpus(self, name: str) -> None:
        """Forget a corpus that was taken away. The writer calls it."""
