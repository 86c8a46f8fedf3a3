"""A writing engine, a backend with copies of its corpora, and a front end over that."""

from irclient.errors import Unavailable
from irdaemon.contrib.backends.front import FrontEngine
from irdaemon.engine import EngineOptions
from tests.support.copied import Copied
from tests.support.memory_backend import MemoryBackend

NAME = "postgresql://db/ir"
READING = (
    "read_totals find_candidates find_term_ids count_frequencies list_words_like rank read_texts"
    " wait read_newest_generation"
).split()


class Leaving(MemoryBackend):
    """A backend that can be away."""

    away = False

    def __getattribute__(self, name):
        if name in READING and self.away:
            raise Unavailable("connection refused", "start it")
        return super().__getattribute__(name)


class FrontProcess:
    """The process around a front end."""

    reloaded = 0

    def __init__(self):
        self.told = {"version": "0", "pid": 1, "uptime_s": 1.0}

    def describe_process(self):
        return self.told

    def reload(self):
        self.reloaded += 1
        return []


class Fronted:
    """An engine that writes, and a front end of what it wrote."""

    def __init__(self, engine, embedders=("hashing",)):
        self.now = 1e9
        self.backend = Leaving()
        self.copied = Copied(engine, self.backend)
        self.process = FrontProcess()
        self.front = FrontEngine(
            [(NAME, self.backend)], embedders, EngineOptions(), self.process, lambda: self.now
        )

    def copy(self):
        """Have the engine scan, its corpora copied, and the front end learn of it."""
        self.copied.scan()
        self.front.refresh()

    @property
    def engine(self):
        return self.copied.engine
