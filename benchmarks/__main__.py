"""`python -m benchmarks` runs them all."""

import sys

from benchmarks.run_all import main

sys.exit(main())
