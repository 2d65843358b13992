"""``python -m sklearn_tace``."""

from sklearn_tace.command_line.main import main

raise SystemExit(main())
