"""No public function takes more than five parameters: more mean that a type is missing."""

import ast

import pytest

from tests.support.modules import PACKAGES, modules

MOST = 5
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What may take more, each with its reason. `ir` is the library whose public functions are offered
# here under their names, with their keywords.
EXEMPT = {
    "irdaemon.library.functions.discover": "ir.discover",
    "irdaemon.library.functions.search_daemon": "ir.search",
    "irdaemon.library.functions.search": "ir.search",
    "irdaemon.library.functions.select": "ir.select",
    "irdaemon.library.tools.make_search": "ir.make_search",
    "irdaemon.library.tools.search": "ir.tools.search",
    "irdaemon.library.built.build": "ir.build",
    "irdaemon.library.walks.traverse": "ir.traverse",
    "irdaemon.library.models.make_llm_synthesizer": "ir.make_llm_synthesizer",
    "irdaemon.library.models.with_synopsis": "ir.with_synopsis",
    "irdaemon.strategy.chunked.Chunked.__init__": "ir.Chunked, whose parameters are in recipes",
    "irdaemon.strategy.kinds.Package.__init__": "ir.Package, whose parameters are in recipes",
    "irdaemon.contrib.evaluate.curve.distractor_robustness_curve": "of ir.eval",
    "irdaemon.library.evaluation.build_eval_set": "ir.eval_gen.build_eval_set",
    "irdaemon.library.evaluation.generate_cases": "ir.eval_gen.generate_cases",
    "irdaemon.library.evaluation.calibrate_min_score": "ir.eval.calibrate_min_score",
    "irdaemon.library.evaluation.distractor_robustness_curve": "the same in the library",
    "irdaemon.library.evaluation.evaluate_discovery": "ir.eval.evaluate_discovery",
    "irdaemon.library.evaluation.evaluate_selection": "ir.eval.evaluate_selection",
    "irdaemon.library.evaluation.sweep_selector": "ir.eval.sweep_selector",
    "irclient.ops.Operations.doc_add": "AddToLibrary, and how long to wait",
    "irclient.mcp.discovery.Discovery.discover": "an MCP tool, whose parameters are its schema",
    "irclient.mcp.documents.writing.WritingTools.add": "an MCP tool, whose schema it is",
    "irclient.mcp.documents.places.DirectoryTools.index": "an MCP tool, whose schema it is",
    "irclient.mcp.documents.LibraryTools.search": "an MCP tool, whose parameters are its schema",
}
# What may take keywords that it does not name: those of `search`, which are checked
# by name, and argparse's.
KEYWORDS = {
    "irdaemon.library.functions.as_retriever": "ir.as_retriever",
    "irdaemon.library.functions.retrievers": "ir.retrievers",
    "irclient.terminal.help.argument": "argparse's add_argument",
    "irclient.cli.query.take_argument": "the same",
}


def functions(tree):
    """Yield the public functions of a module, and the public methods of its public classes."""
    for node in tree.body:
        if isinstance(node, FUNCTIONS) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [each for each in node.body if isinstance(each, FUNCTIONS)]
            for each in methods:
                if each.name == "__init__" or not each.name.startswith("_"):
                    yield f"{node.name}.{each.name}", each


def parameters(function):
    """Return the names of a function's parameters, without self and cls."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def too_long(name, source):
    """Return the functions of a module that take more than five parameters, by dotted name."""
    every = functions(ast.parse(source))
    return [f"{name}.{own}" for own, each in every if len(parameters(each)) > MOST]


def sources(package):
    for path, module in modules(package):
        yield f"{package}.{module}".rstrip("."), path.read_text("utf-8")


def test_no_public_function_takes_more_than_five_parameters_but_those_with_a_reason():
    found = {each for package in PACKAGES for pair in sources(package) for each in too_long(*pair)}
    assert found - EXEMPT.keys() == set()
    assert EXEMPT.keys() - found == set(), "these are short enough to need no exemption"


def test_no_public_function_takes_keywords_that_it_does_not_name():
    found = {
        f"{name}.{own}"
        for package in PACKAGES
        for name, source in sources(package)
        for own, function in functions(ast.parse(source))
        if function.args.kwarg is not None
    }
    assert found == KEYWORDS.keys()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(a, b, c, d, e): ...", []),
        ("def f(a, b, c, d, *, e, f): ...", ["m.f"]),
        ("async def f(a, b, c, d, e, f): ...", ["m.f"]),
        ("class C:\n    def f(self, a, b, c, d, e): ...", []),
        ("class C:\n    def __init__(self, a, b, c, d, e, f): ...", ["m.C.__init__"]),
        ("class C:\n    a: int\n    b: int\n    c: int\n    d: int\n    e: int\n    f: int", []),
        ("def _f(a, b, c, d, e, f): ...", []),
    ],
)
def test_a_planted_signature_is_found(source, found):
    assert too_long("m", source) == found
