from dataclasses import replace

from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpus
from irdaemon.engine.configure import describe_changes
from irdaemon.types import Root


def corpora(text, *found):
    """Return the corpora of a configuration by name; those without roots are found at `found`."""
    config = parse_config(text, "/etc/x/irdaemon.toml")
    made = (make_corpus(each, config, tuple(map(Root, found))) for each in config.corpora)
    return {corpus.name: corpus for corpus in made}


FOUND = corpora('[corpora.packages]\nkind = "packages"\n', "/home/x/code")
NOTES = corpora('[corpora.notes]\nkind = "files"\nroots = ["/n"]\n')


def test_a_found_corpus_that_is_replaced_is_named_with_its_places_and_the_way_back():
    other = corpora('[corpora.packages]\nkind = "files"\nroots = ["/n"]\n')
    said = describe_changes(FOUND, other, {"packages": 1420})
    assert "/home/x/code" in said
    assert said.startswith("1 corpus; packages, found in ")
    assert said.endswith(
        "(1,420 artifacts), is replaced by files in /n;"
        " irc rm packages, then irc add packages brings it back"
    )


def test_a_found_corpus_that_is_removed_is_switched_off_and_can_be_had_again():
    assert describe_changes(FOUND, {}, {"packages": 3}) == (
        "0 corpora; packages is switched off; 3 artifacts are removed;"
        " irc add packages brings back what is found in the usual places"
    )


def test_what_was_written_by_hand_is_added_and_removed_in_a_few_words():
    assert describe_changes({}, NOTES, {}) == "1 corpus; notes is new"
    assert (
        describe_changes(NOTES, {}, {"notes": 2})
        == "0 corpora; notes is removed with its 2 artifacts"
    )
    assert describe_changes(NOTES, NOTES, {"notes": 2}) == "1 corpus"


def test_examples_that_make_way_are_not_spoken_of_as_what_was_the_persons():
    examples = {**FOUND, **NOTES}
    examples = {name: replace(each, example=True) for name, each in examples.items()}
    assert describe_changes(examples, NOTES, {"notes": 3, "packages": 6}) == (
        "1 corpus; your own corpora replace the examples (packages, notes); notes is new"
    )
    assert describe_changes(examples, examples, {}) == "2 corpora"
