"""What a layout finds: submissions that were handed in, and what was passed over."""

from msgspec import Struct, field

from grader.report.escape import printable

SHOWN = 10
"""How many things of one kind are named; the others are counted."""


LEFT_BEHIND = "left by systems, or handed out beside an exercise"
"""The kind of things that are only counted."""


class Entry(Struct, frozen=True):
    """One submission as it was handed in: its files below the folder, the module first, or its text.

    `place` is how records call it; `position` is how far through all submissions it stands.
    """

    student: str
    exercise: str
    place: str
    position: int
    files: tuple[str, ...] = ()
    source: str = ""


class PassedOver(Struct):
    """What was passed over, counted by kind, with the first few of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, what: str) -> None:
        """Remember one thing of a kind; `what` is a submission's or a student's text."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < SHOWN and kind != LEFT_BEHIND:
            examples.append(printable(what))

    def lines(self) -> list[str]:
        """A line for each thing, and one for the others of its kind."""
        told = []
        for kind, count in self.counts.items():
            examples = self.examples[kind]
            told += [f"{kind}: {what}" for what in examples]
            if count > len(examples):
                told.append(f"{kind}: {count - len(examples):,} {'more' if examples else 'in all'}")
        return told
