"""How `irdaemon backup` and `restore` treat the record of what sessions did.

Not all of it can be recovered: a file's state at a turn can only be recorded while it lasts.
"""

from irdaemon.contrib.recall.store import RecallStore
from irdaemon.contrib.usage.session_log import SavedFile

_FILE = SavedFile(".recall", lambda config: config.recall_path, RecallStore)
back_up, restore = _FILE.back_up, _FILE.restore
