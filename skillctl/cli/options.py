"""Arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path

import click

handbook_argument = click.argument("handbook", type=click.Path(path_type=Path))
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Form of the result.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be written and write nothing.")
success_at_option = click.option(
    "--success-at",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="A score from here on is a success, where a trace has no `success`.",
)
