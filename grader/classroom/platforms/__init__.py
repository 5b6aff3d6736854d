"""Course platforms. Each folder is one platform: its class, and the templates of its autograder package, if any."""

import pkgutil
from importlib import import_module

from grader.classroom.exports.records import ClassExport, VerdictExport
from grader.classroom.platforms.platform import Autograder, Platform, PlatformLayout


def _platform_in(folder: str) -> Platform:
    """Return the platform whose class a folder defines."""
    module = import_module(f"{__name__}.{folder}")
    classes = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Platform)]
    (own,) = (each for each in classes if each.__module__ == module.__name__)
    return own()


PLATFORMS = tuple(_platform_in(found.name) for found in pkgutil.iter_modules(__path__) if found.ispkg)

LAYOUTS = tuple(
    sorted((each for each in PLATFORMS if isinstance(each, PlatformLayout)), key=lambda layout: layout.rank)
)
AUTOGRADERS = {platform.name: platform for platform in PLATFORMS if isinstance(platform, Autograder)}
PLATFORM_EXPORTS = tuple(platform for platform in PLATFORMS if isinstance(platform, ClassExport | VerdictExport))
