"""`python -m idxopt`: the command line."""

import sys

from idxopt.cli import main

sys.exit(main())
