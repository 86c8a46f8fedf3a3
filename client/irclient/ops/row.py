"""A row of the operations: one of them, by the method that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irclient.errors import ProtocolError
from irclient.places import may_be_noted

if TYPE_CHECKING:
    from irclient.types import Query

Kind = type | tuple[type, ...]


class Op:
    """One operation, by the method that asks for it; without one, as `call` sends it.

    A `repeatable` operation may be sent again where the reply was lost. With `waiting` the daemon
    may take longer than usual, by the argument `wait_ms`; where `fresh` is an argument, only with
    that. `addon` is the daemon's add-on that has it, "" for the core.
    """

    __slots__ = (
        "_args",
        "_filling",
        "addon",
        "annotations",
        "defaults",
        "name",
        "repeatable",
        "result_type",
        "waiting",
    )

    def __init__(
        self,
        name: str,
        repeatable: bool = True,
        waiting: bool = False,
        method: Callable[..., Any] | None = None,
        addon: str = "",
    ):
        self.name = name
        self.repeatable = repeatable
        self.waiting = waiting
        self.addon = addon
        self.annotations = dict(method.__annotations__) if method else {}
        self.result_type = self.annotations.pop("return", "")
        given = (method.__defaults__ if method else ()) or ()
        self.defaults = dict(zip(reversed(self.annotations), reversed(given), strict=False))
        self._args: Mapping[str, Kind] | None = None
        self._filling: Mapping[str, Any] | None = None

    @property
    def args(self) -> Mapping[str, Kind]:
        """The types that the daemon takes, by argument; a query stands for its fields."""
        if self._args is None:
            declared: dict[str, Kind] = {}
            for name, type_ in self.annotations.items():
                declared |= _query_types() if type_ == _QUERY else {name: _wire_type(type_)}
            self._args = declared
        return self._args

    def fill(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a request with those that were left out: here stand the defaults.

        One that a method's caller has to give is empty then. The fields of a query but for its text
        are not filled in: `Query` has theirs.
        """
        if self._filling is None:
            self._filling = {
                "text" if type_ == _QUERY else name: self.default(name)
                for name, type_ in self.annotations.items()
            }
        return {**self._filling, **args}

    def default(self, name: str) -> Any:
        """Return the value of an argument that was left out."""
        if name not in self.annotations:
            from irclient.types import Query

            return getattr(Query(""), name)
        found, kind = self.defaults.get(name), self.args.get(name, str)
        if name in self.defaults and kind is not dict:
            return found
        return (kind[0] if isinstance(kind, tuple) else kind)()

    def bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call of the method as plain data."""
        values = {**self.defaults, **dict(zip(self.annotations, given, strict=False)), **named}
        plain: dict[str, Any] = {}
        for name, value in values.items():
            plain |= _plain(name, self.annotations[name], value)
        return plain

    def extra_s(self, args: Mapping[str, Any]) -> float:
        """Return how many seconds longer than usual a reply may take."""
        waits = self.waiting and args.get("fresh", True)
        return args["wait_ms"] / 1e3 if waits else 0.0

    def result(self, reply: Any) -> Any:
        """Return what a reply holds. Raises ProtocolError for one of another form."""
        many = self.result_type.startswith("list[")
        try:
            read = _reader(self.result_type.removeprefix("list[").removesuffix("]"))
            if not many:
                return read(reply)
            if not isinstance(reply, list):
                raise TypeError("it is not a list")
            return [read(each) for each in reply]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the reply to {self.name} has another form: {error}") from error


_QUERY = "Query | str | Mapping[str, Any]"
_TYPES: Mapping[str, Kind] = {
    "str": str,
    "int": int,
    "bool": bool,
    "float": (int, float),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "SelectSpec": dict,
}


def _wire_type(annotation: str) -> Kind:
    if annotation.startswith(("Sequence[", "tuple[")):
        return (list, str) if annotation.endswith("| str") else list
    return dict if annotation.startswith("Mapping[") else _TYPES[annotation]


def _query_types() -> Mapping[str, Kind]:
    from irclient.types import Query

    return {name: _wire_type(each) for name, each in Query.__annotations__.items()}


def _plain(name: str, annotation: str, value: Any) -> Mapping[str, Any]:
    """Return one argument of a method as those of its request."""
    if annotation == _QUERY:
        return _query_args(value)
    if annotation.startswith("Sequence["):
        keeps_text = isinstance(value, str) and annotation.endswith("| str")
        return {name: value if keeps_text else list(value)}
    if annotation.startswith("Mapping["):
        return {name: dict(value or {})}
    # Wherever an answer may be noted, the directory and the environment can forbid it.
    return {name: value and may_be_noted() if name == "noted" else value}


def _query_args(query: Query | str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a query as the arguments that ask it; plain data needs no type of ours."""
    if isinstance(query, dict):
        return {"fresh": False, "wait_ms": 1000.0, **query}
    from irclient.types import as_query

    return as_query(query).to_dict()


def _reader(name: str) -> Callable[[Any], Any]:
    if name in ("int", "str"):
        return int if name == "int" else str
    if name in ("Selection", "Disclosure"):
        from irclient import types as home
    else:
        # 7 ms, which a process that lives for one query need not wait
        from irclient import results as home  # type: ignore[no-redef]
    read: Callable[[Any], Any] = getattr(home, name).from_dict
    return read
