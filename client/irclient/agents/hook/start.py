"""Start the hook without the site's own imports: `python -I -S .../irclient/agents/hook/start.py`.

A script is compiled each time it runs, so this one only finds the package that it lies in.
"""

import os
import sys

# After the standard library, so that nothing installed can replace its modules.
sys.path.append(os.path.abspath(__file__ + "/../../../.."))

from irclient.agents.hook.run import main

main(sys.argv[1:])
