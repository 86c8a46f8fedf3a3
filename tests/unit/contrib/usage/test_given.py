import pytest

from irclient.errors import QueryError
from irdaemon.contrib.usage.taught import parse_uses
from irdaemon.types import Use


def test_uses_come_as_objects_and_as_records(tmp_path):
    record = {"prompt": "fill a form", "gold": ["pdf"], "session": "s", "at": 5, "corpus": "skills"}
    made = Use("fill a form", ("pdf",), "s", 5.0, "skills")
    assert parse_uses([record, made]) == [made, made]


def test_a_time_may_be_a_number_or_iso_and_is_utc_without_a_zone():
    times = [3600, "1970-01-01T01:00:00", "1970-01-01T02:00:00+01:00", "1970-01-01T01:00:00Z"]
    uses = parse_uses({"prompt": "p", "gold": ["a"], "at": at} for at in times)
    assert [use.at for use in uses] == [3600.0] * 4


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ([], "not an object"),
        ({"gold": ["a"]}, "`prompt`"),
        ({"prompt": " ", "gold": ["a"]}, "`prompt`"),
        ({"prompt": "p", "gold": "a"}, "`gold`"),
        ({"prompt": "p", "gold": []}, "`gold`"),
        ({"prompt": "p", "gold": [1]}, "`gold`"),
        ({"prompt": "p", "gold": ["a"], "at": "soon"}, "`at`"),
        ({"prompt": "p", "gold": ["a"], "at": True}, "`at`"),
        ({"prompt": "p", "gold": ["a"], "session": 3}, "`session`"),
        ({"prompt": "p", "gold": ["a"], "when": 3}, "'when'"),
    ],
)
def test_what_is_no_use_is_refused_by_its_number_and_key(record, named):
    with pytest.raises(QueryError) as raised:
        parse_uses([{"prompt": "p", "gold": ["a"]}, record])
    assert "use 2" in str(raised.value)
    assert named in str(raised.value)
