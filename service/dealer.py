"""The shuffle: fair, and checkable once the seed is revealed (api.md section 8).

The only place that draws or mixes anything for a game. The algorithm is part of the public contract: whoever has the
seed must get the same packs, in any language, so it never changes.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator
from itertools import count
from typing import Final, Protocol

from service.engine.cards import Card, Deck
from service.engine.state import Seat

SEED_BYTES: Final = 32
_BYTE_VALUES: Final = 256


class Dealer(Protocol):
    """Where a game's packs come from; the seed alone decides them."""

    def new_seed(self) -> bytes:
        """A secret seed for one game."""
        ...

    def first_dealer(self, seed: bytes, seats: int) -> Seat:
        """Who deals the first hand."""
        ...

    def pack(self, seed: bytes, deck: Deck, hand_number: int) -> tuple[Card, ...]:
        """The shuffled pack of a hand (counted from 1), top first, before the cut."""
        ...


class SeededDealer:
    """Fisher-Yates over HMAC-SHA-256 blocks of the seed, with rejection sampling so that no order is favoured."""

    def new_seed(self) -> bytes:
        return secrets.token_bytes(SEED_BYTES)

    def first_dealer(self, seed: bytes, seats: int) -> Seat:
        return _draw(_stream(seed, "dealer"), seats)

    def pack(self, seed: bytes, deck: Deck, hand_number: int) -> tuple[Card, ...]:
        stream = _stream(seed, f"hand:{hand_number}")
        pack = list(deck.cards)
        for last in range(len(pack) - 1, 0, -1):
            other = _draw(stream, last + 1)
            pack[last], pack[other] = pack[other], pack[last]
        return tuple(pack)


def _stream(seed: bytes, label: str) -> Iterator[int]:
    for block in count():
        yield from hmac.digest(seed, f"{label}:{block}".encode("ascii"), "sha256")


def _draw(stream: Iterator[int], bound: int) -> int:
    """An even draw from 0..bound-1; bytes that would favour the low numbers are skipped."""
    usable = _BYTE_VALUES - _BYTE_VALUES % bound
    return next(byte for byte in stream if byte < usable) % bound
