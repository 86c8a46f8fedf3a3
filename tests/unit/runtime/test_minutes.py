from irdaemon.runtime.minutes import AnswerMinutes, Refusals

MINUTE = 60.0
NOON = 1_800_000_000.0


def test_answers_are_counted_in_their_minute_with_the_median_of_their_durations():
    minutes = AnswerMinutes()
    for ms in (1.0, 9.0, 2.0):
        minutes.note(ms, NOON)
    minutes.note(5.0, NOON + MINUTE)
    told = minutes.to_dict(NOON + 3 * MINUTE)
    assert told["queries"][-4:] == [3, 1, 0, 0]
    assert told["p50"][-4:] == [2.0, 5.0, None, None]


def test_sixty_minutes_are_told_and_the_first_of_them_says_when_it_began():
    told = AnswerMinutes().to_dict(NOON + 10)
    assert told == {"since": NOON - 59 * MINUTE, "queries": [0] * 60, "p50": [None] * 60}


def test_what_is_more_than_an_hour_ago_is_forgotten():
    minutes = AnswerMinutes()
    for hour in range(3):
        minutes.note(1.0, NOON + 60 * hour * MINUTE)
    assert sum(minutes.to_dict(NOON + 120 * MINUTE)["queries"]) == 1
    assert len(minutes._minutes) == 1


def test_of_a_busy_minute_the_newest_durations_are_kept_and_all_are_counted():
    minutes = AnswerMinutes()
    for ms in range(2_000):
        minutes.note(float(ms), NOON)
    told = minutes.to_dict(NOON)
    assert told["queries"][-1] == 2_000
    assert 1_500 <= told["p50"][-1] < 2_000


def test_refused_requests_are_told_by_kind_for_an_hour():
    now = [NOON]
    refused = Refusals(lambda: now[0])
    refused.note(1, "discover", "update")
    refused.note(1, "discover", "update")
    refused.note(None, "x" * 500, "update")
    told = refused.list_recent()
    assert [(each["protocol"], each["count"], len(each["op"])) for each in told] == [
        ("1", 2, 8),
        ("none", 1, 40),
    ]
    for protocol in range(100):
        refused.note(protocol, "ping", "update")
    assert len(refused.list_recent()) == 8
    now[0] += 61 * MINUTE
    assert refused.list_recent() == []
