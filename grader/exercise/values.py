"""The kinds of single values that a description is made of, with what they must keep to."""

from typing import Annotated

from msgspec import Meta

TEXT = r"\S"
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LINK = r"^https?://\S+$"

PATTERNS = {
    TEXT: "text",
    NAME: "a name of letters, digits and underscores",
    ID: "a name of letters, digits, - and _",
    LINK: "a link that begins with https://",
}
"""What each pattern asks for, in words."""

LONGEST = 86_400
"""A day, in seconds."""

Text = Annotated[str, Meta(pattern=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID)]
Fragments = Annotated[str, Meta(min_length=1)] | list[Text]
"""One fragment or several. msgspec 0.22 corrupts memory where a string with a pattern and a list are alternatives."""

Link = Annotated[str, Meta(pattern=LINK)]
Size = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Points = Annotated[float, Meta(gt=0, le=1000)]
Duration = Annotated[float, Meta(gt=0, le=LONGEST)]

Literal = bool | int | float | str | None
Shape = Annotated[list[Name | Size], Meta(max_length=8)]
Arguments = Annotated[dict[Name, Literal], Meta(max_length=32)]
Sizes = Annotated[dict[Name, Size], Meta(max_length=16)]
Ladder = Annotated[list[Sizes], Meta(max_length=32)]
