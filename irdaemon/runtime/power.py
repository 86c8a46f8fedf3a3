"""Whether the machine runs on a battery, as Linux tells it; elsewhere it never does."""

from __future__ import annotations

import os

SUPPLIES = "/sys/class/power_supply"


def is_on_battery(directory: str = SUPPLIES) -> bool:
    """Return whether a battery of the machine is being discharged and no other supply is there.

    A mouse's battery is not the machine's, and a machine without a battery is never on one.
    """
    try:
        supplies = [os.path.join(directory, name) for name in os.listdir(directory)]
    except OSError:
        return False
    if any(_read_value(each, "online") == "1" for each in supplies):
        return False
    return any(map(_is_discharged, supplies))


def _is_discharged(supply: str) -> bool:
    own = _read_value(supply, "type") == "Battery" and _read_value(supply, "scope") != "Device"
    return own and _read_value(supply, "status") == "Discharging"


def _read_value(supply: str, name: str) -> str:
    try:
        with open(os.path.join(supply, name), encoding="ascii", errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return ""
