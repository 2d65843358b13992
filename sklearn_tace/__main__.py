"""``python -m sklearn_tace``."""

from sklearn_tace._cli import main

raise SystemExit(main())
