"""Let the peer, `ir`, answer what `bench/quality.py` asks. Run by the peer's own interpreter.

    python answer.py QUESTIONS.json ANSWERS.json [EMBEDDER]

Questions: {set: {items: {id: {name, description, text}}, queries: [text], outside: [text]}}.
Answers: {setting: {set: {queries: [answer], outside: [answer]}}}, an answer being {ranked: [id],
top: score or null, committed: [id]}.
"""

import json
import sys

import ir

SETTINGS = {
    "default (hybrid, rrf)": {"mode": "hybrid"},
    "lexical": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "hybrid, blend": {"mode": "hybrid", "fusion": "blend"},
}


def main(asked, answered, embedder=None):
    """Build every set as a corpus and answer every query under every setting."""
    with open(asked, encoding="utf-8") as file:
        sets = json.load(file)
    answers = {setting: {} for setting in SETTINGS}
    for name, content in sets.items():
        source = ir.CorpusSource.from_mapping(content["items"], name=name, strategy=ir.Skill())
        corpus = ir.build(source, embedder=embedder) if embedder else ir.build(source)
        for setting, options in SETTINGS.items():
            print(f"peer: {name}, {setting}", file=sys.stderr, flush=True)
            answers[setting][name] = {
                part: [answer(corpus, query, options) for query in content[part]]
                for part in ("queries", "outside")
            }
    with open(answered, "w", encoding="utf-8") as file:
        json.dump(answers, file)


def answer(corpus, query, options):
    """Return the ten best of a search, and what discover commits by default."""
    hits = ir.search(corpus, query, k=10, **options)
    chosen = ir.discover(corpus, query, **options)
    return {
        "ranked": [hit.artifact_id for hit in hits],
        "top": float(hits[0].score) if hits else None,
        "committed": list(chosen.ids),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
