"""One row of the table of operations, built from the method that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irclient.errors import ProtocolError
from irclient.places import may_be_noted

if TYPE_CHECKING:
    from irclient.types import Query

Kind = type | tuple[type, ...]


class Op:
    """One operation, described by its method; without a method, as `call` sends it.

    A `repeatable` operation may be sent again if the reply was lost. A `waiting` one may take
    `wait_ms` longer than usual, or, if it has an argument `fresh`, only when that is set. `addon`
    is the daemon's add-on that provides it, "" for the core.
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
        self.result_type = self.annotations.pop("return", "").replace("results.", "")
        given = (method.__defaults__ if method else ()) or ()
        self.defaults = dict(zip(reversed(self.annotations), reversed(given), strict=False))
        self._args: Mapping[str, Kind] | None = None
        self._filling: Mapping[str, Any] | None = None

    @property
    def args(self) -> Mapping[str, Kind]:
        """The wire types by argument; a query is replaced by its fields."""
        if self._args is None:
            declared: dict[str, Kind] = {}
            for name, type_ in self.annotations.items():
                declared |= (
                    _list_query_types() if type_ == _QUERY else {name: _find_wire_type(type_)}
                )
            self._args = declared
        return self._args

    def fill(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a request with defaults for those left out.

        Required arguments become empty. Of a query only the text is filled in: `Query` has the
        defaults of its other fields.
        """
        if self._filling is None:
            self._filling = {
                "text" if type_ == _QUERY else name: self.find_default(name)
                for name, type_ in self.annotations.items()
            }
        return {**self._filling, **args}

    def find_default(self, name: str) -> Any:
        """Return the default of an argument; an empty value if it is required."""
        if name not in self.annotations:
            from irclient.types import Query

            return getattr(Query(""), name)
        found, kind = self.defaults.get(name), self.args.get(name, str)
        if name in self.defaults and kind is not dict:
            return found
        return (kind[0] if isinstance(kind, tuple) else kind)()

    def bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a method call as plain data."""
        values = {**self.defaults, **dict(zip(self.annotations, given, strict=False)), **named}
        plain: dict[str, Any] = {}
        for name, value in values.items():
            plain |= _dump_argument(name, self.annotations[name], value)
        return plain

    def compute_extra_s(self, args: Mapping[str, Any]) -> float:
        """Return how many seconds longer than usual a reply may take."""
        waits = self.waiting and args.get("fresh", True)
        return args["wait_ms"] / 1e3 if waits else 0.0

    def read_result(self, reply: Any) -> Any:
        """Parse a reply. Raises ProtocolError if it has the wrong form."""
        many = self.result_type.startswith("list[")
        try:
            read = _choose_reader(self.result_type.removeprefix("list[").removesuffix("]"))
            if not many:
                return read(reply)
            if not isinstance(reply, list):
                raise TypeError("it is not a list")
            return [read(each) for each in reply]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the reply to {self.name} has the wrong form: {error}") from error


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


def _find_wire_type(annotation: str) -> Kind:
    if annotation.startswith(("Sequence[", "tuple[")):
        return (list, str) if annotation.endswith("| str") else list
    return dict if annotation.startswith("Mapping[") else _TYPES[annotation]


def _list_query_types() -> Mapping[str, Kind]:
    from irclient.types import Query

    return {name: _find_wire_type(each) for name, each in Query.__annotations__.items()}


def _dump_argument(name: str, annotation: str, value: Any) -> Mapping[str, Any]:
    """Return the request arguments for one method argument."""
    if annotation == _QUERY:
        return _dump_query(value)
    if annotation.startswith("Sequence["):
        keeps_text = isinstance(value, str) and annotation.endswith("| str")
        return {name: value if keeps_text else list(value)}
    if annotation.startswith("Mapping["):
        return {name: dict(value or {})}
    # The directory and the environment can forbid recording an answer.
    return {name: value and may_be_noted() if name == "noted" else value}


def _dump_query(query: Query | str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a query as request arguments; plain data needs none of our types."""
    if isinstance(query, dict):
        return {"fresh": False, "wait_ms": 1000.0, **query}
    from irclient.types import as_query

    return as_query(query).to_dict()


def _choose_reader(name: str) -> Callable[[Any], Any]:
    if name in ("int", "str"):
        return int if name == "int" else str
    if name in ("Selection", "Disclosure"):
        from irclient import types as home
    else:
        # Importing it takes 7 ms, which a process that asks one query saves.
        from irclient import results as home  # type: ignore[no-redef]
    read: Callable[[Any], Any] = getattr(home, name).from_dict
    return read
