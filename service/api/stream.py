"""Events as `text/event-stream`: a snapshot if need be, then what happens, until the game or five minutes are over."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from service.api.present import Json, present_event, present_view
from service.games import Entry, Games
from service.refusals import RefusedError
from service.store.base import StoreUnavailableError
from service.store.bell import Listener
from service.waiting import LOOKS_AGAIN_AFTER_SECONDS, Waiter, Waiting

MEDIA_TYPE: Final = "text/event-stream"
LASTS_SECONDS: Final = 300.0
COMMENT_EVERY_SECONDS: Final = 15.0
RECONNECT_MS: Final = range(1_000, 5_000)
"""Until a reader comes back: by chance, or all readers of a worker that is stopped would come at once."""
_EVENTS_AT_ONCE: Final = 100


def stream(games: Games, waiting: Waiting, entry: Entry, who: Waiter, last_seq: int | None) -> Iterator[bytes]:
    """Messages for the viewer of *entry*; *last_seq* is the last event it has, None for a new reader.

    Ends with `retry`, so that a browser comes back by itself; where no place is free it ends after what there is now.
    """
    try:
        with waiting.place(entry.game_id, who) as place:
            yield from _messages(games, waiting, entry, place, last_seq)
    except (StoreUnavailableError, RefusedError):
        pass  # the reader comes back, and is told then
    yield f"retry: {secrets.choice(RECONNECT_MS)}\n\n".encode()


def _messages(
    games: Games, waiting: Waiting, entry: Entry, place: Listener | None, last_seq: int | None
) -> Iterator[bytes]:
    started = time.monotonic()
    said = started - COMMENT_EVERY_SECONDS  # something is said at once: the headers are sent with it
    while True:
        entry = games.look_again(entry)
        games.mark_present(entry)
        for seq, message in _news(games, entry, last_seq):
            yield message
            last_seq, said = seq, time.monotonic()
        if last_seq is None or last_seq < entry.last_seq:
            continue
        now = time.monotonic()
        if entry.is_over or place is None or waiting.is_draining or now - started >= LASTS_SECONDS:
            return
        if now - said >= COMMENT_EVERY_SECONDS:
            said = now
            yield b": still here\n\n"
        place.wait(min(LOOKS_AGAIN_AFTER_SECONDS, COMMENT_EVERY_SECONDS - (now - said)))


def _news(games: Games, entry: Entry, last_seq: int | None) -> Iterator[tuple[int, bytes]]:
    """Messages with their ids: some of the events after *last_seq*, or a snapshot if they do not follow it.

    They do not when the reader was away for too long, or when the store has lost what the reader has.
    """
    if last_seq == entry.last_seq:
        return
    if last_seq is not None:
        page = games.events(entry, last_seq, _EVENTS_AT_ONCE)
        if page.events and page.oldest_seq - 1 <= last_seq < entry.last_seq:
            for event in page.events:
                yield event.seq, _message(event.seq, event.type, present_event(event))
            return
    yield entry.last_seq, _message(entry.last_seq, "snapshot", present_view(games.look(entry)))


def _message(seq: int, kind: str, body: Json) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, kind.encode("ascii"), msgspec.json.encode(body))
