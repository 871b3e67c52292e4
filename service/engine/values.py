"""What is done most often with the frozen dataclasses, faster than `dataclasses` does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dataclasses import replace as replace

    from _typeshed import DataclassInstance
else:

    def replace(value, /, **changes):  # to a type checker it is that of `dataclasses`
        """As `dataclasses.replace`, for a class of two fields or more, all of them positional in its constructor."""
        kind = type(value)
        read, places = _READERS.get(kind) or _reader(kind)
        values = list(read(value))
        for name, changed in changes.items():
            values[places[name]] = changed
        return kind(*values)


def _reader(kind: type[DataclassInstance]) -> tuple[Callable[[object], tuple[object, ...]], dict[str, int]]:
    names = field_names(kind)
    _READERS[kind] = attrgetter(*names), {name: place for place, name in enumerate(names)}
    return _READERS[kind]


def field_names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """In order."""
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(field.name for field in fields(kind))
    return names


_NAMES: Final[dict[type, tuple[str, ...]]] = {}
_READERS: Final[dict[type, tuple[Callable[[object], tuple[object, ...]], dict[str, int]]]] = {}
