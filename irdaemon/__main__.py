"""`python -m irdaemon`: the same as the `irdaemon` command."""

from irdaemon.cli.main import main

raise SystemExit(main())
