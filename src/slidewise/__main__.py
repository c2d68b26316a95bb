"""Run the command `slidewise`: `python -m slidewise`."""

import sys

if not __package__:  # spark-submit runs this file by its path: its folder has modules of the package, not of the path
    sys.path.pop(0)

from slidewise.cli import main

if __name__ == "__main__":
    main()
