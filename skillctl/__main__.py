"""Run the command line as ``python -m skillctl``."""

from skillctl.cli.main import main

if __name__ == "__main__":
    main()
