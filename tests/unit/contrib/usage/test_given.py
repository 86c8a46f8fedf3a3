import pytest

from irclient.errors import QueryError
from irdaemon.contrib.usage.taught import parse_uses, read_uses
from irdaemon.types import Use


def test_uses_come_as_objects_and_as_records(tmp_path):
    record = {"prompt": "fill a form", "gold": ["pdf"], "session": "s", "at": 5, "corpus": "skills"}
    made = Use("fill a form", ("pdf",), "s", 5.0, "skills")
    assert parse_uses([record, made]) == [made, made]


def test_a_file_of_uses_may_hold_blank_lines_and_leave_out_what_is_not_known(tmp_path):
    path = tmp_path / "uses.jsonl"
    path.write_text('{"prompt": "p", "gold": ["a"]}\n\n{"prompt": "q", "gold": ["a", "b"]}\n')
    assert [(use.prompt, use.gold, use.session, use.at) for use in read_uses(str(path))] == [
        ("p", ("a",), "", 0.0),
        ("q", ("a", "b"), "", 0.0),
    ]


def test_a_time_may_be_a_number_or_iso_and_is_utc_without_a_zone():
    times = [3600, "1970-01-01T01:00:00", "1970-01-01T02:00:00+01:00", "1970-01-01T01:00:00Z"]
    uses = parse_uses({"prompt": "p", "gold": ["a"], "at": at} for at in times)
    assert [use.at for use in uses] == [3600.0] * 4


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"gold": ["a"]}', "`prompt`"),
        ('{"prompt": " ", "gold": ["a"]}', "`prompt`"),
        ('{"prompt": "p", "gold": "a"}', "`gold`"),
        ('{"prompt": "p", "gold": []}', "`gold`"),
        ('{"prompt": "p", "gold": [1]}', "`gold`"),
        ('{"prompt": "p", "gold": ["a"], "at": "soon"}', "`at`"),
        ('{"prompt": "p", "gold": ["a"], "at": true}', "`at`"),
        ('{"prompt": "p", "gold": ["a"], "session": 3}', "`session`"),
        ('{"prompt": "p", "gold": ["a"], "when": 3}', "'when'"),
    ],
)
def test_what_is_no_use_is_refused_by_file_line_and_key(tmp_path, line, named):
    path = tmp_path / "uses.jsonl"
    path.write_text(f'{{"prompt": "p", "gold": ["a"]}}\n{line}\n')
    with pytest.raises(QueryError) as raised:
        read_uses(str(path))
    assert f"{path}, line 2" in str(raised.value)
    assert named in str(raised.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(QueryError):
        read_uses(str(tmp_path / "none.jsonl"))
