"""`python -m irdaemon`: the same as the `irdaemon` command."""

from irdaemon.cli import main

raise SystemExit(main())
