"""What the options of a query may be, for the types that cross the wire and for command lines."""

from __future__ import annotations

MODES = ("hybrid", "dense", "lexical")
FUSIONS = ("standard", "rrf", "blend", "alpha", "mmr", "alpha+mmr")
LEVELS = ("metadata", "body", "bundled")
STRATEGIES = ("conservative", "top_k", "score_gap", "rel_threshold", "abs_threshold")
