"""How `irdaemon backup` and `restore` treat the log of use.

A backup does not contain the key of the log's digests. On another machine, old records stay joined,
but prompts read again there do not match them.
"""

from irdaemon.contrib.usage.session_log import SavedFile
from irdaemon.contrib.usage.store import UsageStore

_FILE = SavedFile(".usage", lambda config: config.usage_path, UsageStore)
back_up, restore = _FILE.back_up, _FILE.restore
