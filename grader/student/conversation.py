"""How `guide` talks to a student: on a terminal, through a pipe, or in a notebook."""

from collections.abc import Callable, Sequence

from grader.report.console import has_color, print_report, width
from grader.report.page import Line, render_page
from grader.report.progress import Progress
from grader.report.terminal import Screen, render_terminal
from grader.report.view import ON_SCREEN, view_of
from grader.spec.exercise import Exercise
from grader.submission.choice import Choice
from grader.verdict.verdict import Verdict

LEAVING = {"q", "quit", "exit"}
"""The answers that end the guide."""

END_OF_PROMPT = "\0"
"""Ends each prompt if the guide runs for a notebook, which then asks the student."""


class ConversationEndedError(Exception):
    """The student left: with `q`, with the end-of-file key (Ctrl-D), or because the terminal closed."""


class Conversation:
    """Shows lines, and reads answers: first the given ones, then those of `read_line`.

    `read_line` returns an empty text at the end of the input. On a terminal that ends the conversation, because each
    later question would wait for a key; in a pipe it skips the remaining questions. Answers that no terminal has shown
    are shown.
    """

    def __init__(
        self,
        read_file: Callable[[], Choice],
        read_line: Callable[[str], str],
        answers: Sequence[str] = (),
        *,
        on_terminal: bool,
        in_notebook: bool = False,
    ) -> None:
        self.width = width()
        self.in_notebook = in_notebook
        """Whether the student works in a notebook, whose cells cannot be edited in the middle of a hunt."""
        self._read_file, self._read_line = read_file, read_line
        self._answers, self._has_answers = [*answers], bool(answers)
        self._on_terminal, self._has_remark = on_terminal, True

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines of text."""
        print_report(render_page(lines, self.width, color=has_color()))

    def ask(self, prompt: str) -> str | None:
        """Return the answer to a prompt; None for an empty line, and for the end of the input.

        If answers were given beforehand, the input ends after the last of them. Raise `ConversationEndedError` if
        the student leaves.
        """
        if self._has_answers:
            line = self._answers.pop(0) if self._answers else ""
            print_report(f"{prompt}{line}\n")
        else:
            try:
                line = self._read_line(prompt)
            except OSError as error:  # the terminal closed
                raise ConversationEndedError from error
            if not (self._on_terminal or self.in_notebook) or not line:
                print_report(line.rstrip("\n") + "\n")
            if self._on_terminal and not line:
                raise ConversationEndedError
        if line.strip().lower() in LEAVING:
            raise ConversationEndedError
        return line.strip() or None

    def read_file(self) -> Choice:
        """Read the student's file as it is now."""
        choice = self._read_file()
        if choice.remark and self._has_remark:
            print_report(f"{choice.remark}\n")
        self._has_remark = False
        return choice

    def show_verdict(self, verdict: Verdict, exercise: Exercise, progress: Progress) -> None:
        """Show the page of a verdict, which explains every fixed defect."""
        view = view_of(verdict, exercise, progress.without_lessons(), limits=ON_SCREEN)
        print_report(render_terminal(view, Screen(width=self.width, color=has_color())))
