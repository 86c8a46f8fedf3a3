"""Projects and a running daemon: ask from a place, and see whose items come."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from irclient import Client, Query
from irclient.types import Hit
from tests.support.checkouts import Package, make_project
from tests.support.running import Home, Running, until

# It stands in every item, so that one question names all that can be seen.
EVERYWHERE = "quokka"


class Seen(NamedTuple):
    """An item that an answer shows, and the project that it says it belongs to ("" for none)."""

    corpus: str
    name: str
    project: str


def see(client: Client, place: object = "", text: str = EVERYWHERE, *corpora: str) -> set[Seen]:
    """Return all that a word finds from a place."""
    asked = Query(text, corpora=corpora, mode="lexical", k=1_000, place=str(place))
    return {as_seen(hit) for hit in client.search(asked).results}


def names_from(home: Home, place: object) -> set[str]:
    """Return the names of all that a word finds from a place."""
    with home.client() as client:
        return {each.name for each in see(client, place)}


def as_seen(hit: Hit) -> Seen:
    return Seen(hit.corpus, hit.name, hit.fields.get("project", ""))


def settle(home: Home, *places: object) -> None:
    """Ask from each place, and wait until the projects there are read and nothing is left to do."""
    with home.client() as client:
        for place in places:
            client.discover(Query("anything", place=str(place)))

        def all_read() -> bool:
            reading = [client.here(str(place)).reading for place in places]
            return not any(reading) and not client.status().queue

        until(all_read)


def make_many(code: Path, count: int, seed: int = 7) -> list[Path]:
    """Write projects whose items are made of the same few words, and return their roots.

    Names of skills and packages repeat from project to project; what differs is the number of the
    project, which stands in each text.
    """
    chance = random.Random(seed)
    return [
        make_project(code, f"p{number}", **_contents(chance, number)) for number in range(count)
    ]


WORDS = """deploy release invoice payment queue worker cache index search report chart login
session upload migration schema review lint build mail""".split()


def _contents(chance: random.Random, number: int) -> dict[str, object]:
    def text() -> str:
        return " ".join([*chance.sample(WORDS, 8), f"of{number}"])

    return {
        "manager": chance.choice(("npm", "pnpm", "uv", "pip")),
        "skills": {f"{word}-it": text() for word in chance.sample(WORDS, 6)},
        "packages": {f"{w}-kit": Package("1.0.0", text(), text()) for w in chance.sample(WORDS, 4)},
        "docs": {f"docs/{word}.md": f"# {text()}\n" for word in chance.sample(WORDS, 3)},
        "sessions": {f"how do we {text()}": text()},
    }


def random_queries(seed: int, count: int) -> Iterable[Query]:
    """Yield questions of every kind, without a place."""
    chance = random.Random(seed)
    for _ in range(count):
        yield Query(
            " ".join(chance.sample(WORDS, chance.randint(1, 5))),
            corpora=chance.choice(((), (), ("skills",))),
            mode=chance.choice(("hybrid", "lexical", "dense")),
            k=chance.choice((3, 10, 50)),
            related=chance.random() < 0.2,
            rounds=chance.choice((None, None, 2)),
        )


def is_foreign(hit: Hit, root: Path | None) -> bool:
    """Say whether a hit belongs to a project other than the one at `root`; sessions may."""
    return hit.corpus != "sessions" and hit.fields.get("project_root", "") not in ("", str(root))


def read_all(home: Home, running: Running, roots: Iterable[Path]) -> None:
    """Have every project read, and the person's own corpora too."""
    running.wait_idle()
    settle(home, *roots)
