"""Languages by the suffixes of their files, and what their symbols are read with."""

from __future__ import annotations

from importlib.util import find_spec

_SUFFIXES = {
    "bash": ".bash .sh",
    "c": ".c .h",
    "clojure": ".clj",
    "cpp": ".cc .cpp .hpp",
    "csharp": ".cs",
    "css": ".css",
    "dart": ".dart",
    "elixir": ".ex .exs",
    "erlang": ".erl",
    "go": ".go",
    "haskell": ".hs",
    "html": ".html",
    "java": ".java",
    "javascript": ".js .jsx .cjs .mjs",
    "julia": ".jl",
    "kotlin": ".kt",
    "lua": ".lua",
    "ocaml": ".ml",
    "perl": ".pl",
    "php": ".php",
    "powershell": ".ps1",
    "python": ".py",
    "r": ".r",
    "ruby": ".rb",
    "rust": ".rs",
    "scala": ".scala",
    "sql": ".sql",
    "swift": ".swift",
    "tsx": ".tsx",
    "typescript": ".ts",
    "vue": ".vue",
    "zig": ".zig",
}
_BY_SUFFIX = {suffix: name for name, every in _SUFFIXES.items() for suffix in every.split()}
# The module of each grammar that `outline` has patterns for; of TypeScript one has both.
_MODULES = {
    **{name: f"tree_sitter_{name}" for name in ("c", "go", "java", "javascript", "ruby", "rust")},
    **dict.fromkeys(("tsx", "typescript"), "tree_sitter_typescript"),
}
_COMMENTS = {
    **dict.fromkeys(("bash", "elixir", "julia", "perl", "python", "r", "ruby"), ("#",)),
    **dict.fromkeys(("haskell", "lua", "sql"), ("--",)),
    "rust": ("//", "/*", "*", "#["),
}


def language_of(suffix: str) -> str:
    """Return the language of files with a suffix (in small letters), "" for one not known."""
    return _BY_SUFFIX.get(suffix, "")


def comment_marks(language: str) -> tuple[str, ...]:
    """Return what a line of a comment, or an attribute, begins with."""
    return _COMMENTS.get(language, ("//", "/*", "*", "@"))


def outlined_languages() -> tuple[str, ...]:
    """Return the languages whose symbols can be told with what is installed here, sorted."""
    if not find_spec("tree_sitter"):
        return ("python",)
    return tuple(sorted(["python", *(n for n, module in _MODULES.items() if find_spec(module))]))


def missing_languages() -> tuple[str, ...]:
    """Return the languages that the extra `code` would add, sorted."""
    return tuple(sorted(set(_MODULES) - set(outlined_languages())))
