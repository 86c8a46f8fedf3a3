"""Whether a machine is on its battery, by what the kernel tells of its supplies."""

import pytest

from irdaemon.daemon.active_config import is_on_battery

MAINS = {"type": "Mains", "online": "1"}
UNPLUGGED = {"type": "Mains", "online": "0"}
DISCHARGING = {"type": "Battery", "status": "Discharging"}
CHARGING = {"type": "Battery", "status": "Charging"}
MOUSE = {"type": "Battery", "scope": "Device", "status": "Discharging"}
USB = {"type": "USB", "online": "1"}


@pytest.mark.parametrize(
    ("supplies", "found"),
    [
        ([], False),
        ([MAINS], False),
        ([UNPLUGGED, DISCHARGING], True),
        ([DISCHARGING], True),
        ([MAINS, DISCHARGING], False),
        ([MAINS, CHARGING], False),
        ([UNPLUGGED, CHARGING], False),
        ([UNPLUGGED, USB, DISCHARGING], False),
        ([UNPLUGGED, MOUSE], False),
        ([UNPLUGGED, {"type": "Battery"}], False),
    ],
)
def test_a_battery_that_is_discharged_without_another_supply_is_what_counts(
    supplies, found, tmp_path
):
    for number, supply in enumerate(supplies):
        folder = tmp_path / f"S{number}"
        folder.mkdir()
        for name, value in supply.items():
            (folder / name).write_text(f"{value}\n")
    assert is_on_battery(str(tmp_path)) is found


def test_where_nothing_is_told_it_is_on_none(tmp_path):
    assert not is_on_battery(str(tmp_path / "absent"))
