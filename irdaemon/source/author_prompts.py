"""The prompts that an item's author expects: of its front matter and eval files.

Each author has a format of their own. So a value is walked by what its keys say: a list under one
of `_EITHER`, `_MEANT` or `_MISSED` holds prompts, near misses or both, a mapping with a text under
one of `_TEXTS` is one of them, and other keys of it may say which. Answers, rubrics, graders and
paths are passed over. What is said of another item is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from irdaemon.source.frontmatter import Fields
from irdaemon.source.redact.private import find_key_blocks, has_private
from irdaemon.text import tokenize, tokenize_name

MOST = 50
# A longer one is left out whole: the half of a secret would not be recognised as one.
LONGEST = 1_000
_LONGEST_TEXT = 8 * LONGEST
# How much of an author's values is read: an alias in YAML repeats its value.
_MOST_PARTS = 5_000
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class AuthorPrompts:
    """The prompts that want an item, and the near misses that want another, of a line each."""

    prompts: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def find_author_prompts(
    names: Iterable[str], fields: Fields, evals: Iterable[object] = ()
) -> AuthorPrompts:
    """Return the prompts that an author states for the item of these names.

    `fields` are its front matter, `evals` the values of its eval files, those that matter most
    first. Never raises.
    """
    search = _Search(tuple(names))
    search.take_front(fields)
    for value in evals:
        if search.is_full():
            break
        search.take_evals(value)
    return search.finish()


def hides_text(text: str) -> bool:
    """Return whether something private begins in a text: parts of it would not be recognised."""
    return has_private(text) or any(find_key_blocks(text))


# Keys are compared without case, spaces, hyphens and underscores.

_TEXTS = tuple(
    """query prompt input text user question request utterance phrase message instruction userprompt
    userinput userquery usermessage userrequest keyword intent pattern value trigger not""".split()
)
_EITHER = frozenset(
    """evals evaluations cases testcases tests queries prompts items data samples tasks stimuli
    scenarios examples triggertests triggerevals triggercases triggerqueries outputevals
    functionalevals behaviorevals behaviourevals evalset evalqueries evalcases testcorpus train val
    validation test heldout keywords phrases patterns primary secondary intents usermessages
    triggerphrases activation""".split()
)
_ACTS = r"(?:trigger|activat|invok|load|fire|match)"
_KINDS = r"(?:prompts?|queries|cases|examples|tests?|evals?|triggers?|phrases|keywords)?"
_MEANT = re.compile(rf"(?:should|must)(?:be)?{_ACTS}\w*|positives?{_KINDS}|triggers?(?:prompts)?")
_MISSED = re.compile(
    rf"(?:should|must|does|do)(?:not|nt)(?:be)?{_ACTS}\w*|negatives?{_KINDS}|nearmiss(?:es)?{_KINDS}"
    rf"|near(?:est)?neighbou?rs?{_KINDS}|falsepositives?|(?:not|non|anti)triggers?|not"
)
# Where an item says whether it is meant: first by a key that asks it, then by its kind.
_ASKED = re.compile(rf"(?:is|should|must|expect|expected)?(?:be)?{_ACTS}\w*|expect|expected")
_KIND = ("expectedbehavior", "type", "kind", "category", "sampletype", "label", "polarity")
_CALLED = ("name", "id")
_OWNERS = ("skill", "skillname", "expectedskill", "targetskill", "primaryskill", "expectedwinner",
           "expectedprimaryskill")  # fmt: skip
_LONGEST_VERDICT = 40
_YES = re.compile(rf"(?:true|yes|positive|(?:should )?{_ACTS}(?:e|ed|s)?)")
_REFUSES = re.compile(rf"\b(?:should|must|does|do|did)(?: not|nt|n't) (?:be )?{_ACTS}")
_NO = re.compile(rf"(?:false|no|none|null|skip|ignore|silent)$|(?:non?|not|anti) ?{_ACTS}"
                 r"|negative|near ?(?:miss|neighbo)|out of scope")  # fmt: skip

# Keys of front matter, and whether prompts or near misses are under them; a text there is a list
# with commas, lines, or prose, which is described elsewhere.
_FRONT = {
    "triggers": (True, ","),
    "triggerphrases": (True, ","),
    "examples": (True, "\n"),
    "exampleprompts": (True, "\n"),
    "promptexamples": (True, "\n"),
    "whentouse": (True, ""),
    "negativetriggers": (False, ","),
    "nottriggers": (False, ","),
    "antitriggers": (False, ","),
    "whennottouse": (False, ""),
}

_MARK = re.compile(r"\A(?:[-*\u2022]|\d{1,3}[.)])\s+")
_QUOTED = re.compile("([\"'`])(.*)\\1|\u201c(.*)\u201d|\u300c(.*)\u300d")
_SUFFIX = re.compile(r"\.\w{1,5}\Z")
# The signs of a regular expression.
_EXPRESSION = re.compile(r"\.[*+]|\\[bdswBDSW]|\(\?|\[\^|\w\|\w")
_SIGNS = re.compile(r"[\\^$*+?()\[\]{}]")
_NOT_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# Beside its name, these say no more than that an item is to be used.
_CALLS = frozenset(tokenize("use run invoke call load skill command agent tool md"))
_WORDLESS = re.compile(r"[\W_]+")
_LONGEST_KEY = 64


@dataclass(slots=True)
class _Search:
    """The results so far, by whether they are meant: each line once, regardless of case."""

    names: tuple[str, ...]
    found: dict[bool, dict[str, str]] = field(default_factory=lambda: {True: {}, False: {}})
    left: int = _MOST_PARTS
    known: frozenset[str] = frozenset()

    def find_known(self) -> frozenset[str]:
        """Return the words that say no more than the names; most items state nothing to compare."""
        if not self.known:
            each = ((*tokenize(name), *tokenize_name(name)) for name in self.names)
            self.known = _CALLS.union(*each)
        return self.known

    def is_full(self) -> bool:
        return self.left <= 0 or all(len(lines) >= MOST for lines in self.found.values())

    def finish(self) -> AuthorPrompts:
        """Return the findings; near misses alone do not say what an item is for."""
        meant, missed = self.found[True], self.found[False]
        if not meant:
            return AuthorPrompts()
        apart = (line for key, line in missed.items() if key not in meant)
        return AuthorPrompts(tuple(meant.values()), tuple(apart))

    def take_front(self, fields: Fields) -> None:
        for holder in (fields, fields.get("metadata")):
            for key, value in holder.items() if isinstance(holder, Mapping) else ():
                meant, between = _FRONT.get(_fold(key), (True, None))
                if between is not None:
                    self.walk(_split(value, between) if isinstance(value, str) else value, meant)

    def take_evals(self, value: object) -> None:
        """Take the value of an eval file, but for one that says it is another skill's."""
        if isinstance(value, Mapping):
            keys = _fold_keys(value)
            stated = next((each for key in _OWNERS if isinstance(each := keys.get(key), str)), "")
            about = set(tokenize(stated[-_LONGEST_KEY:])) - _CALLS
            if about and about.isdisjoint(self.find_known()):
                return
        self.walk(value, True)

    def walk(self, value: object, meant: bool, depth: int = 0) -> None:
        self.left -= 1 + (len(value) if isinstance(value, Mapping) else 0)
        if self.left <= 0 or depth > _DEEPEST:
            return
        if isinstance(value, str):
            self.add(value, meant)
        elif isinstance(value, Mapping):
            self.walk_mapping(_fold_keys(value), meant, depth)
        elif isinstance(value, list):
            for each in value:
                if self.left <= 0:
                    return
                self.walk(each, meant, depth + 1)

    def walk_mapping(self, keys: Mapping[str, object], meant: bool, depth: int) -> None:
        """Take a mapping that is a prompt, or holds some."""
        groups = [(each, _read_group(key, meant)) for key, each in keys.items()]
        holders = [(each, its) for each, its in groups if isinstance(each, (list, Mapping))]
        parts = [(each, its) for each, its in holders if its is not None]
        key = next((key for key in _TEXTS if isinstance(keys.get(key), str)), "")
        if key and not (parts and depth == 0):
            self.add_item(key, keys, meant)
        elif depth == 0 or self.is_mine(keys):
            for each, its in parts:
                self.walk(each, its, depth + 1)

    def add_item(self, key: str, keys: Mapping[str, object], meant: bool) -> None:
        """Add the text under a key of a mapping; what another item is expected for is left out."""
        asked = [name for name in keys if _ASKED.fullmatch(name)]
        verdicts = [_read_verdict(keys.get(name)) for name in (*asked, *_KIND)]
        verdicts += [False for name in _CALLED if _refuses(keys.get(name))]
        said = next((each for each in verdicts if each is not None), meant and key != "not")
        named = (keys[name] for name in asked if name.startswith("should"))
        if said and not (self.is_mine(keys) and all(map(self.is_me, named))):
            return
        text = str(keys[key])
        if key != "pattern":
            self.add(text, said)
            return
        for part in text.split("|") if len(text) <= _LONGEST_TEXT else ():
            if not _SIGNS.search(part):
                self.add(part, said)

    def is_mine(self, keys: Mapping[str, object]) -> bool:
        """Return whether a mapping names no other item than this as its own."""
        return all(self.is_me(keys.get(name)) for name in _OWNERS)

    def is_me(self, named: object) -> bool:
        """Return whether a value names no other item than this."""
        if not isinstance(named, str) or _read_verdict(named) is not None:
            return True
        last = _fold(re.split("[:/]", named[-_LONGEST_KEY:])[-1])
        return not last or last in map(_fold, self.names)

    def add(self, text: str, meant: bool) -> None:
        """Add a prompt, unless it is invalid, or says no more than the item's name."""
        line = _read_line(text) if len(text) <= _LONGEST_TEXT else ""
        lines = self.found[meant]
        if not 1 < len(line) <= LONGEST or len(lines) >= MOST:
            return
        if not (_is_code(line) or self.find_known().issuperset(tokenize(line))):
            lines.setdefault(line.casefold(), line)


def _split(text: str, between: str) -> list[str]:
    """Split a text at a sign and at lines; into nothing where the sign is "".

    A text with something private in it gives nothing either: its parts would not be recognised.
    """
    if not between or hides_text(text):
        return []
    return re.split(f"[{between}\n]", text)


def _read_line(text: str) -> str:
    """Return a text on one line, without the mark of a list and the quotes around it."""
    line = _MARK.sub("", " ".join(_NOT_TEXT.sub(" ", text).split()), count=1)
    quoted = _QUOTED.fullmatch(line) if len(line) <= LONGEST else None
    return next(filter(None, quoted.groups()[1:]), "").strip() if quoted else line


def _is_code(line: str) -> bool:
    """Return whether a line is a path, a pattern of paths, or a regular expression."""
    if " " not in line and ("*" in line or line.endswith(".md")):
        return True
    is_path = " " not in line and "/" in line and bool(_SUFFIX.search(line))
    return is_path or bool(_EXPRESSION.search(line))


def _fold(key: object) -> str:
    short = isinstance(key, str) and len(key) <= _LONGEST_KEY
    return _WORDLESS.sub("", str(key).lower()) if short else ""


def _fold_keys(value: Mapping[object, object]) -> dict[str, object]:
    return {_fold(key): each for key, each in value.items()}


def _read_group(key: str, meant: bool) -> bool | None:
    """Return whether the prompts under a key are meant, None for a key without prompts."""
    if key in _EITHER:
        return meant
    if _MISSED.fullmatch(key):
        return False
    return True if _MEANT.fullmatch(key) else None


def _read_verdict(value: object) -> bool | None:
    """Return whether a value says that something is meant, None where it does not say."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST_VERDICT:
        return None
    said = _spell(value)
    if _NO.match(said) or _refuses(value):
        return False
    return True if _YES.fullmatch(said) else None


def _refuses(value: object) -> bool:
    return isinstance(value, str) and bool(_REFUSES.search(_spell(value[:_LONGEST_VERDICT])))


def _spell(value: str) -> str:
    return re.sub(r"[\s_-]+", " ", value.lower()).strip()
