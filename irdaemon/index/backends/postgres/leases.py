"""Who may write a corpus: a row for each, with a fence that grows whenever another takes it.

Time is the server's. A lease that was not renewed in time may be taken by another, and the next
write of the former holder is refused, however long it was away.
"""

from __future__ import annotations

from irdaemon.index.backend import LeaseLost
from irdaemon.index.backends.postgres.connections import Connection

LEASE_S = 15


def take_lease(connection: Connection, corpus: str, holder: str, fence: int | None) -> int:
    """Take or renew the lease of a corpus; return its fence.

    `fence` is the one that this process had. A holder of the same name without one is the same
    program, started again: it takes the lease, and the fence grows. Raises LeaseLost.
    """
    until = f"clock_timestamp() + interval '{LEASE_S} seconds'"
    row = connection.execute(
        "INSERT INTO irdaemon.leases AS l (corpus, holder, fence, until)"
        f" VALUES (%(corpus)s, %(holder)s, 1, {until}) ON CONFLICT (corpus) DO UPDATE SET"
        " holder = excluded.holder, until = excluded.until,"
        " fence = l.fence + CASE WHEN l.holder = excluded.holder AND l.fence = %(fence)s"
        "   THEN 0 ELSE 1 END"
        " WHERE l.until < clock_timestamp()"
        "   OR l.holder = excluded.holder AND (%(fence)s::bigint IS NULL OR l.fence = %(fence)s)"
        " RETURNING fence",
        {"corpus": corpus, "holder": holder, "fence": fence},
    ).fetchone()
    if row is None:
        raise _lost(connection, corpus)
    return int(row[0])


def release_lease(connection: Connection, corpus: str, holder: str, fence: int) -> None:
    """Give up a lease, if it is still the one with this fence."""
    connection.execute(
        "UPDATE irdaemon.leases SET until = '-infinity'"
        " WHERE corpus = %s AND holder = %s AND fence = %s",
        (corpus, holder, fence),
    )


def check_fence(connection: Connection, corpus: str, fence: int, *, hold: bool = False) -> None:
    """Raise LeaseLost where a fence is not the newest.

    With `hold` none is given out before the transaction ends.
    """
    row = connection.execute(
        f"SELECT fence FROM irdaemon.leases WHERE corpus = %s{' FOR SHARE' if hold else ''}",
        (corpus,),
    ).fetchone()
    if row is None or row[0] != fence:
        raise _lost(connection, corpus)


def _lost(connection: Connection, corpus: str) -> LeaseLost:
    row = connection.execute(
        "SELECT holder, ceil(extract(epoch FROM until - clock_timestamp()))"
        " FROM irdaemon.leases WHERE corpus = %s",
        (corpus,),
    ).fetchone()
    if row is None:
        return LeaseLost(f"no process has the lease of corpus {corpus!r}", "take it before writing")
    holder, left = row
    return LeaseLost(
        f"corpus {corpus!r} is written by {holder}",
        "nothing was changed; it can be taken over"
        + (f" in {int(left)} s, unless that one goes on" if left > 0 else " now"),
    )
