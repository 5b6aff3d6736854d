"""The built-in properties, one module a family: a property's record, function, needs and documentation stand together.

The modules are found by looking into this folder, so a new property is listed nowhere else. They import torch only
inside functions: reading a description, and the list of exercises, need the records alone.
"""

import pkgutil
from importlib import import_module

from grader.examiner.property import Property


def _defined_in(module: str) -> list[type[Property]]:
    """The properties that a module of this folder defines, in its order."""
    values = vars(import_module(f"{__name__}.{module}")).values()
    return [
        each
        for each in values
        if isinstance(each, type) and issubclass(each, Property) and each.__module__ == f"{__name__}.{module}"
    ]


PROPERTIES: dict[str, type[Property]] = {
    str(record.__struct_config__.tag): record
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__))
    for record in _defined_in(module)
}
"""Each property's record by the name that YAML gives it."""
