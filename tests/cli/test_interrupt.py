"""Ctrl-C ends every command with 130, at whatever moment it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

from skillctl.cli.main import LazyGroup
from skillctl.errors import EXIT_BUG, EXIT_INTERRUPTED

if TYPE_CHECKING:
    from click.testing import Result


def _invoke(error: BaseException) -> Result:
    class Group(LazyGroup):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
            def fail() -> None:
                raise error

            return click.Command("fail", callback=fail)

    return CliRunner().invoke(Group("skillctl"), ["fail"])


def test_an_interrupt_that_python_wrapped_while_it_made_a_class_is_an_interrupt() -> None:
    wrapped = RuntimeError("Error calling __set_name__ on 'Field' instance")
    wrapped.__cause__ = KeyboardInterrupt()
    result = _invoke(wrapped)
    assert (result.exit_code, result.stderr) == (EXIT_INTERRUPTED, "interrupted\n")


def test_other_errors_with_a_cause_are_bugs() -> None:
    wrapped = RuntimeError("broken")
    wrapped.__cause__ = ValueError("why")
    assert _invoke(wrapped).exit_code == EXIT_BUG
