"""Start the hook for settings files that name its former path: see `irclient.agents.hook.start`."""

import os
import sys

sys.path.append(os.path.abspath(__file__ + "/../../.."))

from irclient.agents.hook.run import main

main(sys.argv[1:])
