"""Read a submission's statements: whether they match the fix of a defect, or its faulty code.

A statement is a method and the fingerprint of a syntax tree in it. Statements are compared with those of each pair of
variants that differ in one defect only, because other defects may change the same statements.
"""

from collections.abc import Collection
from enum import StrEnum

from grader.verdict.key import Key, defects_in, has_defect, variant_name

Statement = tuple[str, str]


class Reading(StrEnum):
    """What the submission's statements show about a defect, in the methods that differ with the defect."""

    FIXED = "fixed"  # the statements of its fix, and none of its faulty ones
    FAULTY = "faulty"  # its faulty statements, and none of its fix
    KEPT = "kept"  # other statements changed, but the tokens of the fix are unchanged
    CHANGED = "changed"  # neither
    UNREAD = "unread"  # nothing: the method was written anew, or there are no statements to compare


HAS_FIX = (Reading.FIXED, Reading.KEPT)
"""The readings in which the submission still contains the fix."""


class StatementReader:
    """The statements of a submission and of every variant.

    `methods` has the submission's statements, by method, and `kept_fixes` the defects whose fix occurs in it word
    by word.
    """

    def __init__(self, key: Key, methods: dict[str, str], kept_fixes: Collection[str]) -> None:
        self._variants = {name: _statements(each) for name, each in key.methods.items()}
        self._own = _statements(methods)
        self._kept_fixes = kept_fixes

    def reading(self, defect: str) -> Reading:
        """Return what the submission's statements show about a defect."""
        pairs = self._pairs(defect)
        touched = {method for right, faulty in pairs for method, _ in right ^ faulty}
        own = {each for each in self._own if each[0] in touched}
        if not touched:  # the same statements in another order
            return Reading.KEPT if defect in self._kept_fixes else Reading.UNREAD
        if {method for method, _ in own} != touched:
            return Reading.UNREAD
        common = set.intersection(*(right & faulty for right, faulty in pairs))
        common = {each for each in common if each[0] in touched}
        known = set.union(*(right | faulty for right, faulty in pairs))
        for right, faulty in pairs:
            fix, fault = right - faulty, faulty - right
            if fix <= own and not fault & own:
                return Reading.FIXED
            if fault <= own and not fix & own and (fault or own <= known):
                return Reading.FAULTY
        if defect in self._kept_fixes:
            return Reading.KEPT
        return Reading.CHANGED if 2 * len(common & own) >= len(common) > 0 else Reading.UNREAD

    def differ_only_in(self, defects: Collection[str]) -> bool:
        """Return whether the submission differs from a variant only in statements of these defects."""
        touched = {each for defect in defects for right, faulty in self._pairs(defect) for each in right ^ faulty}
        methods = {method for method, _ in touched}
        return any(
            variant - self._own <= touched
            and all(method in methods or "." not in method for method, _ in self._own - variant)
            for variant in self._variants.values()
        )

    def _pairs(self, defect: str) -> list[tuple[set[Statement], set[Statement]]]:
        """Return the statements of each variant without a defect, and of the same variant with it."""
        return [
            (self._variants[name], self._variants[with_it])
            for name in self._variants
            if not has_defect(name, defect) and (with_it := variant_name(defects_in(name) | {defect})) in self._variants
        ]


def _statements(methods: dict[str, str]) -> set[Statement]:
    """Return all statements of these methods."""
    return {(method, statement) for method, statements in methods.items() for statement in statements.split()}
