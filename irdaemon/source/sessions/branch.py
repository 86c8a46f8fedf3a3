"""Find the branch of a conversation that counts.

Claude Code writes a tree: each record names its parent, and rewinding grows a new branch beside the
old. What counts is the way from the last message back to the root, through compactions. A parent
that is not in the file (its line was lost) is taken to be the record written just before.
"""

from __future__ import annotations

from dataclasses import dataclass

from irdaemon.source.sessions.pairing import Step


@dataclass(frozen=True, slots=True)
class BranchNode:
    """A record that has a place in the tree. `parent` is "" for a root.

    `before` is the main record written before it, `is_main` false for a sub-agent's record,
    `is_message` true for what can end the branch.
    """

    uuid: str
    parent: str
    before: str
    offset: int
    is_main: bool
    is_message: bool
    steps: tuple[Step, ...] = ()


def branch_of(nodes: dict[str, BranchNode], anchor: BranchNode | None = None) -> list[BranchNode]:
    """Return the records of the branch that counts, oldest first.

    With an anchor, the branch is followed back to it and no further, and no lost parent is made
    up for; a branch that does not begin with the anchor then has left it.
    """
    leaf = next((n for n in reversed(nodes.values()) if n.is_main and n.is_message), None)
    if leaf is None:
        return []
    branch = _way_back(nodes, leaf, anchor)
    return branch + _what_follows(nodes, leaf)


def _way_back(
    nodes: dict[str, BranchNode], leaf: BranchNode, anchor: BranchNode | None
) -> list[BranchNode]:
    way: dict[str, BranchNode] = {}
    node: BranchNode | None = leaf
    while node is not None and node.uuid not in way:
        way[node.uuid] = node
        node = None if node is anchor else _parent(nodes, node, make_up=anchor is None)
    return list(reversed(way.values()))


def _parent(nodes: dict[str, BranchNode], node: BranchNode, *, make_up: bool) -> BranchNode | None:
    if not node.parent:
        return None
    return nodes.get(node.parent) or (nodes.get(node.before) if make_up else None)


def _what_follows(nodes: dict[str, BranchNode], leaf: BranchNode) -> list[BranchNode]:
    """Return the records after the last message that hang on it: the marks of a turn's end."""
    chain = [leaf]
    later = False
    for node in nodes.values():
        if later and node.is_main and node.parent == chain[-1].uuid:
            chain.append(node)
        later = later or node is leaf
    return chain[1:]
