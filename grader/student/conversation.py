"""How `guide` talks to a student: on a terminal, through a pipe, or in a notebook."""

from collections.abc import Callable, Sequence

from grader.report.console import Line, has_color, print_report, render_page, width
from grader.report.terminal import render_terminal
from grader.spec.exercise import Exercise
from grader.submission.choice import Choice
from grader.verdict.verdict import Verdict

END_OF_PROMPT = "\0"
"""Ends each prompt if the guide runs for a notebook, which then asks the student."""


class Conversation:
    """Shows lines, and reads answers: first the given ones, then those of `read_line`.

    `read_line` returns an empty text at the end of the input, as the end-of-file key (Ctrl-D) gives. `echoes` shows the
    answers that no terminal has shown.
    """

    def __init__(
        self,
        read_file: Callable[[], Choice],
        read_line: Callable[[str], str],
        answers: Sequence[str] = (),
        *,
        echoes: bool,
        in_notebook: bool = False,
    ) -> None:
        self.width, self.in_notebook = width(), in_notebook
        self._read_file, self._read_line = read_file, read_line
        self._answers, self._has_answers = [*answers], bool(answers)
        self._echoes, self._has_remark = echoes, True

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines of text."""
        print_report(render_page(lines, self.width, color=has_color()))

    def ask(self, prompt: str) -> str | None:
        """Return the answer to a prompt; None for an empty line, and for the end of the input.

        If answers were given beforehand, the end of these is the end of the input.
        """
        if self._has_answers:
            line = self._answers.pop(0) if self._answers else ""
            print_report(f"{prompt}{line}\n")
        else:
            line = self._read_line(prompt)
            if self._echoes or not line:
                print_report(line.rstrip("\n") + "\n")
        return line.strip() or None

    def read_file(self) -> Choice:
        """Read the student's file as it is now."""
        choice = self._read_file()
        if choice.remark and self._has_remark:
            print_report(f"{choice.remark}\n")
        self._has_remark = False
        return choice

    def show_verdict(self, verdict: Verdict, exercise: Exercise) -> None:
        """Show the page of a verdict."""
        print_report(render_terminal(verdict, exercise, width=self.width, color=has_color()))
