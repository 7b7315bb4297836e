"""`python -m fdlkit` is `fdlkit`."""

from __future__ import annotations

import sys

from fdlkit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
