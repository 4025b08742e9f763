"""Runs the speed benchmarks and prints one JSON report: ``python tests/benchmarks/run.py [--quick] [NAME…]``.

Ratios count, not seconds: each figure stands next to its reference, measured in the same run. The other benchmarks of
this folder are about quality: they need outcome files or models, and each is a program of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_NAMES = ("load", "profile", "route", "select", "startup")


def main() -> None:
    """Run what the command line names."""
    sys.path.insert(0, str(_HERE))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_NAMES)}; all without it")
    parser.add_argument("--quick", action="store_true", help="small sizes, one run each: only to see that it works")
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(_NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}")
    report: dict[str, object] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in args.names or _NAMES:
        print(f"{name} …", file=sys.stderr)  # noqa: T201 - progress of a program
        report[name] = importlib.import_module(f"bench_{name}").run(quick=args.quick)
    print(json.dumps(report, indent=2))  # noqa: T201 - the result of a program


if __name__ == "__main__":
    main()
