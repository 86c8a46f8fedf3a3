"""How `irdaemon backup` and `restore` treat the log of use.

The key of its digests is not in a backup. On another machine the old records stay joined; prompts
read again there join none of them.
"""

from irdaemon.contrib.usage.session_log import SavedFile
from irdaemon.contrib.usage.store import UsageStore

_FILE = SavedFile(".usage", lambda config: config.usage_path, UsageStore)
back_up, restore = _FILE.back_up, _FILE.restore
