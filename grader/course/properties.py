"""The built-in properties as descriptions name them: the one import from a stage to the right.

A description is read into the properties themselves, so that a property's arguments, their validation and the function
that tries them stand in one file of `examiner/properties/`, and nothing in `course/` lists them.
"""

import typing

from grader.examiner.properties import PROPERTIES

if typing.TYPE_CHECKING:
    from grader.examiner.properties import Property
else:
    Property = typing.Union[tuple(PROPERTIES.values())]  # noqa: UP007 - of as many as there are

__all__ = ["PROPERTIES", "Property"]
