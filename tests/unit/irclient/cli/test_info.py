"""`irc info`: facts as a person reads them."""

import argparse
import json
import time

import pytest

from irclient.cli.corpora import describe_corpus


class Daemon:
    def __init__(self, last_reconcile):
        self._known = {"name": "notes", "last_reconcile": last_reconcile, "floors": {}}

    def info(self, corpus):
        return self._known


AT = time.mktime((2026, 3, 4, 10, 11, 12, 0, 0, -1))


@pytest.mark.parametrize(("at", "said"), [(AT, "2026-03-04 10:11"), (None, "never")])
def test_a_time_is_a_date_and_not_a_number(capsys, at, said):
    options = argparse.Namespace(corpus="notes", json=False)
    assert describe_corpus.run(Daemon(at), options) == 0
    assert capsys.readouterr().out == f"name: notes\nlast_reconcile: {said}\n"


def test_as_json_it_stays_a_number(capsys):
    describe_corpus.run(Daemon(AT), argparse.Namespace(corpus="notes", json=True))
    assert json.loads(capsys.readouterr().out)["last_reconcile"] == AT
