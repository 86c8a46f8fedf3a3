"""The daemon looks around less often where nothing happens."""

from irdaemon.daemon.threads import BUSY_S, QUIET_S, Pace


def test_after_a_minute_without_request_or_job_it_sleeps_longer():
    now = [0.0]
    pace = Pace(lambda: now[0])
    assert pace.sleep_s() == BUSY_S
    now[0] = 59.0
    assert pace.sleep_s() == BUSY_S
    now[0] = 60.0
    assert pace.sleep_s() == QUIET_S


def test_a_request_and_what_is_noted_end_the_quiet():
    now = [100.0]
    pace = Pace(lambda: now[0])
    now[0] = 200.0
    assert pace.sleep_s(requested_at=150.0) == BUSY_S
    assert pace.sleep_s(requested_at=120.0) == QUIET_S
    pace.note()
    assert pace.sleep_s(requested_at=120.0) == BUSY_S
