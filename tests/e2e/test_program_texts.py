"""Program texts in a corpus of their own, asked for by the symbols in them."""

import json

from tests.support.running import until

SHOP = "class Basket:\n    def weigh_{}(self):\n        return self.plumbwort\n"


def asked(home, *words):
    answer = home.irc("discover", "-c", "shop", "--min-score", "0", "--json", *words)
    return json.loads(answer.stdout)["results"]


def test_a_method_is_found_by_its_name_shown_with_its_lines_and_followed(home, daemon):
    shop = home.path / "shop"
    shop.mkdir()
    (shop / "basket.py").write_text(SHOP.format("everything"))
    (shop / "api_pb2.py").write_text("x = 1\n")
    (shop / "broken.py").write_text("def plumbwort(:\n")
    added = home.irc("add", "shop", "code", str(shop))
    assert (added.returncode, added.stderr) == (0, "")
    assert "generated" in home.irc("info", "shop").stdout
    (hit,) = asked(home, "--where", "symbol=weigh_everything", "--disclose", "body", "plumbwort")
    assert hit["fields"]["qualified_name"] == "Basket.weigh_everything"
    assert (hit["fields"]["start_line"], hit["fields"]["end_line"]) == (2, 3)
    assert hit["disclosure"]["passage"] == SHOP.format("everything").rstrip("\n")
    (broken,) = asked(home, "--where", "flags=no_symbols", "plumbwort")
    assert (broken["artifact_id"], broken["kind"]) == ("broken.py", "chunk")
    (shop / "basket.py").write_text(SHOP.format("nothing"))
    until(lambda: asked(home, "--where", "symbol=weigh_nothing", "plumbwort"))
