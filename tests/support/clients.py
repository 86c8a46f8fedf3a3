"""Both clients, to be asked alike."""

import asyncio

from irclient import AsyncClient


class Awaited:
    """An AsyncClient whose coroutines are run to their end, so that both can be asked alike."""

    def __init__(self, endpoint, timeout=10.0):
        self.runner = asyncio.Runner()
        self.client = AsyncClient(endpoint, timeout)

    def __getattr__(self, name):
        return lambda *args: self.runner.run(getattr(self.client, name)(*args))

    def close(self):
        self.runner.run(self.client.close())
        self.runner.close()
