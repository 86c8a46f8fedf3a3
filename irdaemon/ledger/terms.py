"""The vocabulary: one id per term, shared by all corpora. Ids are never reused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irdaemon.ledger.store import Store

# Words and their numbers in a tenth of the memory of a dict.
#
# Numbers count up from 0. Most words are packed into one byte string by number and found through a
# hash table. Words added or looked up since the last packing are also in a dict, so that a long
# build finds its words quickly.

_BETWEEN = b"\n"
_FREE = -1
_LOAD = 0.5
_WORDS_AT_ONCE = 10_000
_NO_NUMBERS = np.empty(0, np.int64)
# Fewer unpacked words are left unpacked; more are packed even during a build.
_WORTH_PACKING = 2_000
_MOST_BESIDE = 100_000


class PackedWords(NamedTuple):
    """Words without a Python object each: `text` holds them, each followed by a newline.

    Word n ends at `ends[n]`. `slots` holds its number at the first free place from its hash on.
    """

    text: bytes
    ends: memoryview
    slots: memoryview

    @classmethod
    def pack(cls, words: Iterable[str]) -> PackedWords:
        """Pack distinct words, in the order of their numbers."""
        text, ends, hashes = _encode(words)
        return cls(text, ends.data, _make_slots(hashes).data)

    def extend(self, words: Iterable[str]) -> PackedWords:
        """Return these words and others, with the next numbers."""
        text, more, hashes = _encode(words)
        ends = np.concatenate([self.ends, more + np.uint32(len(self.text))])
        text = self.text + text
        if len(ends) > _LOAD * len(self.slots):
            return PackedWords.pack(PackedWords(text, ends.data, self.slots).iterate())
        slots = np.array(self.slots)
        _fill_slots(slots, np.arange(len(self), len(ends), dtype=np.int32), hashes)
        return PackedWords(text, ends.data, slots.data)

    def __len__(self) -> int:
        return len(self.ends)

    def find(self, word: str) -> int:
        """Return the number of a word, -1 if unknown."""
        text, ends, slots = self
        mask = len(slots) - 1
        place = hash(word) & mask
        if (number := slots[place]) == _FREE:
            return _FREE
        wanted = word.encode("utf-8", "surrogatepass") + _BETWEEN
        while number != _FREE:
            if text[ends[number - 1] if number else 0 : ends[number]] == wanted:
                return int(number)
            place = (place + 1) & mask
            number = slots[place]
        return _FREE

    def find_like(self, initials: Collection[str], lengths: range, mark: str) -> Iterator[str]:
        """Yield the words that may begin with one of the letters and have a length.

        A `mark` before a word does not count. Lengths are compared in bytes, so some words with
        non-ASCII letters are too long or too short.
        """
        ends = np.asarray(self.ends).astype(np.int64)
        starts = np.concatenate([[0], ends])[: len(ends)]
        letters, wanted = np.frombuffer(self.text, np.uint8), np.zeros(256, np.bool_)
        wanted[[each.encode("utf-8", "surrogatepass")[0] for each in initials]] = True
        first = starts + (letters[starts] == ord(mark))
        sizes = ends - first - len(_BETWEEN)
        likely = wanted[letters[first]] & (sizes >= lengths.start) & (sizes < 4 * lengths.stop)
        for start, end in zip(starts[likely].tolist(), ends[likely].tolist(), strict=True):
            yield self.text[start : end - len(_BETWEEN)].decode("utf-8", "surrogatepass")

    def iterate(self) -> Iterator[str]:
        """Yield the words in the order of their numbers."""
        start = 0
        for first in range(0, len(self), _WORDS_AT_ONCE):
            end = self.ends[min(first + _WORDS_AT_ONCE, len(self)) - 1]
            part = self.text[start : end - len(_BETWEEN)].decode("utf-8", "surrogatepass")
            yield from part.split("\n")
            start = end


def _encode(words: Iterable[str]) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64]]:
    """Return the words as one text, the end of each, and their hashes."""
    text, lengths, hashes = bytearray(), [_NO_NUMBERS], [_NO_NUMBERS]
    each = iter(words)
    # Part by part: objects for all words at once would take ten times the memory.
    while part := list(islice(each, _WORDS_AT_ONCE)):
        encoded = [word.encode("utf-8", "surrogatepass") + _BETWEEN for word in part]
        text += b"".join(encoded)
        lengths.append(np.array(list(map(len, encoded)), np.int64))
        hashes.append(np.array(list(map(hash, part)), np.int64))
    ends = np.cumsum(np.concatenate(lengths), dtype=np.uint32)
    return bytes(text), ends, np.concatenate(hashes)


def _make_slots(hashes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return an open-addressing table with each number at the first free place."""
    slots = np.full(1 << max(4, int(len(hashes) / _LOAD).bit_length()), _FREE, np.int32)
    _fill_slots(slots, np.arange(len(hashes), dtype=np.int32), hashes)
    return slots


def _fill_slots(
    slots: NDArray[np.int32], numbers: NDArray[np.int32], hashes: NDArray[np.int64]
) -> None:
    """Put numbers at the first free places from their hashes on."""
    places = hashes & (len(slots) - 1)
    while len(numbers):
        free = slots[places] == _FREE
        slots[places[free]] = numbers[free]  # of several candidates for a place the last wins
        left = slots[places] != numbers
        numbers, places = numbers[left], (places[left] + 1) & (len(slots) - 1)


_NONE = PackedWords.pack(())


class Vocabulary(Mapping[str, int]):
    """The number of each word. Readers may use it while its one writer adds to it."""

    def __init__(self, words: Iterable[str] = ()):
        self._parts: tuple[PackedWords, dict[str, int]] = (PackedWords.pack(words), {})
        self._size = len(self._parts[0])

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, int]) -> Vocabulary:
        """Return the vocabulary of words that already have the numbers 0, 1, 2 and so on."""
        return cls(sorted(numbers, key=numbers.__getitem__))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, word: str) -> int:
        if (number := self.get(word, _FREE)) == _FREE:
            raise KeyError(word)
        return int(number)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word, _FREE) != _FREE

    def get(self, word: str, default: Any = None) -> Any:
        """Return the number of a word, or the default."""
        packed, beside = self._parts
        if (number := beside.get(word)) is not None:
            return number
        number = packed.find(word)
        return default if number == _FREE else number

    def __iter__(self) -> Iterator[str]:
        """Yield the words in the order of their numbers."""
        packed, beside = self._parts
        yield from packed.iterate()
        # In the order of addition; words that were only looked up are packed already.
        yield from (word for word, number in tuple(beside.items()) if number >= len(packed))

    def find_like(self, initials: Collection[str], lengths: range, mark: str) -> Iterator[str]:
        """Yield at least the words that begin with one of the letters and have a length.

        The caller checks them; a `mark` before a word does not count.
        """
        packed, beside = self._parts
        yield from packed.find_like(initials, lengths, mark)
        first = len(packed)
        if self._size == first:  # the dict holds only looked-up words
            return
        yield from [
            word
            for word, number in tuple(beside.items())
            if number >= first and word.removeprefix(mark)[:1] in initials
        ]

    # -- for the writer --------------------------------------------------------------------------

    def find(self, word: str) -> int | None:
        """Return the number of a word, or None, and cache it."""
        packed, beside = self._parts
        if (known := beside.get(word)) is not None:
            return known
        if (number := packed.find(word)) == _FREE:
            return None
        beside[word] = number
        return number

    def find_all(self, words: Sequence[str]) -> list[Any]:
        """Return the results of `find` for many words, most of them cached."""
        numbers = list(map(self._parts[1].get, words))
        if None not in numbers:
            return numbers
        return [
            self.find(word) if number is None else number
            for word, number in zip(words, numbers, strict=True)
        ]

    def add(self, word: str) -> int:
        """Give a new word the next number."""
        number = self._parts[1][word] = self._size
        self._size += 1
        return number

    def pack(self, above: int = 0) -> bool:
        """Pack the words of the dict; return whether there were enough of them.

        Enough are more than `above` and some thousands.
        """
        packed, beside = self._parts
        if len(beside) < max(above, _WORTH_PACKING):
            return False
        new = (word for word, number in beside.items() if number >= len(packed))
        # Words that were only looked up are packed already.
        self._parts = packed.extend(new) if self._size > len(packed) else packed, {}
        return True


# Only in a damaged ledger is an id far beyond the number of terms.
_IN_ORDER = (
    "SELECT term, id FROM terms WHERE id BETWEEN 0 AND (SELECT 2 * count(*) FROM terms) ORDER BY id"
)
_BLANK = "\0"  # no analyzer makes a term that begins so
_NO_ID = -1


class TermTable(list[str]):
    """The terms that a reader process has sent, to which records refer by place.

    `ids` are the term ids looked up in `vocabulary` so far, -1 for the others. A term whose id is
    known is replaced by "": the vocabulary has the word.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ids = np.empty(0, np.int32)
        self.vocabulary = Vocabulary()


class Terms:
    """Give terms their ids. Readers may hold the table while the writer adds to it."""

    def __init__(self, store: Store):
        self._store = store
        self._table = Vocabulary()
        self._lost = -1

    def get_table(self) -> Vocabulary:
        """Return the mapping of terms to ids."""
        if self._lost != self._store.lost_transactions:
            # Ids given in a transaction that was rolled back are invalid: read the table again.
            self._table = self._read()
            self._lost = self._store.lost_transactions
        return self._table

    def _read(self) -> Vocabulary:
        return Vocabulary(self._read_words())

    def _read_words(self) -> Iterator[str]:
        """Yield the terms in the order of their ids, a blank for each lost to damage."""
        following = 0
        for term, number in self._store.iterate_rows(_IN_ORDER):
            if number > following:
                yield from (f"{_BLANK}{each}" for each in range(following, number))
            yield term
            following = number + 1

    def give_ids(self, terms: Iterable[str]) -> list[int]:
        """Return the ids of terms, adding new ones, in the caller's transaction."""
        table, terms = self.get_table(), list(terms)
        numbers = table.find_all(terms)
        if None in numbers:
            found = zip(terms, numbers, strict=True)
            new = dict.fromkeys(term for term, number in found if number is None)
            rows = [(table.add(term), term) for term in new]
            self._store.run_many("INSERT INTO terms(id, term) VALUES (?, ?)", rows)
            numbers = table.find_all(terms)
        table.pack(_MOST_BESIDE)
        return numbers

    def give_table_ids(self, table: TermTable, places: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the ids of a table's terms at distinct places, like `give_ids`.

        Known ids are not looked up again.
        """
        if table.vocabulary is not (vocabulary := self.get_table()):
            words = list(table.vocabulary)  # those of a lost transaction included
            for place in np.flatnonzero(table.ids != _NO_ID).tolist():
                table[place] = words[table.ids[place]]
            table.ids, table.vocabulary = np.empty(0, np.int32), vocabulary
        if len(table.ids) < len(table):
            more = np.full(len(table), _NO_ID, np.int32)
            table.ids = np.concatenate([table.ids, more])
        ids = table.ids[places]
        if len(new := places[ids == _NO_ID]):
            asked = new.tolist()
            table.ids[new] = self.give_ids(map(table.__getitem__, asked))
            for place in asked:
                table[place] = ""
            ids = table.ids[places]
        return ids

    def pack(self) -> None:
        """Pack the table into little memory, until many terms are looked up again."""
        self.get_table().pack()

    def find_words(self, ids: Collection[int]) -> dict[str, int]:
        """Return the words of some ids by id, reading only those; blank ones are left out."""
        found = self._store.select_in("SELECT term, id FROM terms WHERE id IN", sorted(ids))
        return {word: number for word, number in found if not word.startswith(_BLANK)}

    def adopt(self, vocabulary: Mapping[str, int]) -> None:
        """Copy the ids of another ledger into an empty one."""
        self._store.run_many("INSERT INTO terms(term, id) VALUES (?, ?)", vocabulary.items())
        self._table = Vocabulary.from_numbers(vocabulary)

    def blank_unused(self, used: NDArray[np.bool_]) -> None:
        """Forget the words of ids that are not `used`. The ids are not reused.

        A table returned before is not changed: readers may be using it.
        """
        unused = [
            (f"{_BLANK}{number}", number)
            for term, number in self.get_table().items()
            if not used[number] and not term.startswith(_BLANK)
        ]
        if unused:
            self._store.write_many("UPDATE terms SET term = ? WHERE id = ?", unused)
            self._table = self._read()
