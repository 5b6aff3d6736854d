"""Course platforms: one module with one class for each, and the list of all platforms."""

from grader.classroom.exports.records import ClassExport, VerdictExport
from grader.classroom.platforms.canvas import Canvas
from grader.classroom.platforms.classroom50 import Classroom50
from grader.classroom.platforms.edition_copies import EditionCopies
from grader.classroom.platforms.gradescope import Gradescope
from grader.classroom.platforms.moodle import Moodle
from grader.classroom.platforms.nbgrader import Nbgrader
from grader.classroom.platforms.platform import Autograder, Platform, SubmissionLayout
from grader.classroom.platforms.prairielearn import PrairieLearn
from grader.classroom.platforms.repositories import Repositories

PLATFORMS: tuple[Platform, ...] = (
    Gradescope(),
    Moodle(),
    Canvas(),
    Repositories(),
    Nbgrader(),
    EditionCopies(),
    PrairieLearn(),
    Classroom50(),
)
"""All platforms. If two layouts fit a folder equally well, the first one counts."""

LAYOUTS = tuple(platform for platform in PLATFORMS if isinstance(platform, SubmissionLayout))
AUTOGRADERS = {platform.name: platform for platform in PLATFORMS if isinstance(platform, Autograder)}
PLATFORM_EXPORTS = tuple(platform for platform in PLATFORMS if isinstance(platform, ClassExport | VerdictExport))
