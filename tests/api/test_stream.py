"""Events as they happen, as `text/event-stream`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import requests
from flask.testing import FlaskClient
from werkzeug.test import TestResponse
from werkzeug.wrappers import Response

from tests import contract
from tests.api.conftest import make_site
from tests.api.driver import PATIENCE_SECONDS, UNLIMITED, Body, Clock, Live, Site, Started, answer, bearer, body_of
from tests.redis_server import RedisServer
from tests.table import table

MEDIA_TYPE = "text/event-stream"
COMMENT = ": still here"


@dataclass(frozen=True)
class Message:
    """One of a stream: an event, a comment (type None), or the time after which to come back (type "retry")."""

    type: str | None
    seq: int | None = None
    data: Body = field(default_factory=dict)


class Stream:
    """What a client reads, message by message; each is held against the contract."""

    def __init__(self, game: Started, token: str | None = None, last: object = None) -> None:
        headers = {"Accept": MEDIA_TYPE, **bearer(token), **({} if last is None else {"Last-Event-ID": str(last)})}
        client = FlaskClient(game.site.app, Response)
        self.response: TestResponse = client.get(f"{game.path}/events/stream", headers=headers)
        assert (self.response.status_code, self.response.mimetype) == (200, MEDIA_TYPE)
        self._messages = self._parsed()

    def _parsed(self) -> Iterator[Message]:
        for chunk in self.response.iter_encoded():
            text = chunk.decode()
            assert text.endswith("\n\n")
            lines = text.removesuffix("\n\n").split("\n")
            if lines == [COMMENT]:
                yield Message(None)
            elif lines[0].startswith("retry: "):
                assert len(lines) == 1
                yield Message("retry", int(lines[0].removeprefix("retry: ")))
            else:
                yield self._event(*lines)

    @staticmethod
    def _event(id_line: str, event_line: str, data_line: str) -> Message:
        kind = event_line.removeprefix("event: ")
        data = json.loads(data_line.removeprefix("data: "))
        contract.validate(f"/components/schemas/{'Game' if kind == 'snapshot' else 'Event'}", data)
        return Message(kind, int(id_line.removeprefix("id: ")), data)

    def next(self) -> Message:
        """The next one, comments passed over."""
        return next(message for message in self._messages if message.type is not None)

    def next_of_all(self) -> Message:
        return next(self._messages)

    def take(self, count: int) -> list[Message]:
        return [self.next() for _ in range(count)]

    def rest(self) -> list[Message]:
        """All until it ends; the last must say when to come back."""
        *messages, last = (message for message in self._messages if message.type is not None)
        assert last.type == "retry" and last.seq in range(1_000, 5_000)
        return messages

    def close(self) -> None:
        self.response.close()


def stream(game: Started, token: str | None = None, last: object = None) -> closing[Stream]:
    return closing(Stream(game, token, last))


def asked(game: Started, token: str | None = None, **headers: str) -> TestResponse:
    """The answer to a request for the stream that is refused, or ends."""
    return game.send("GET", "/events/stream", token=token, headers={"Accept": MEDIA_TYPE, **headers})


def as_messages(events: list[Body]) -> list[Message]:
    return [Message(event["type"], event["seq"], event) for event in events]


def same_but_for_time(one: Body, other: Body) -> bool:
    return all(
        {**view, "server_time": None, "seats": [{**seat, "presence": None} for seat in view["seats"]]}
        == {**other, "server_time": None, "seats": [{**seat, "presence": None} for seat in other["seats"]]}
        for view in (one, other)
    )


@pytest.fixture
def game(any_site: Site) -> Started:
    return any_site.create("mano-a-mano", visibility="public")


# ---- messages ----


@pytest.mark.parametrize("viewer", [0, 1, None])
def test_a_new_reader_gets_a_snapshot_and_then_what_happens(game: Started, viewer: int | None) -> None:
    last = game.events()["next_after"]
    with stream(game, None if viewer is None else game.tokens[viewer]) as reader:
        first = reader.next()
        assert (first.type, first.seq) == ("snapshot", last)
        assert same_but_for_time(first.data, game.view(viewer))
        assert first.data["viewer"]["seat"] == viewer
        for _ in range(3):
            events = game.step()["events"]
            assert reader.take(len(events)) == as_messages(events)


def test_many_events_come_in_order(game: Started) -> None:
    with stream(game, last=0) as reader:
        while game.view(0)["hand"]["number"] < 3:
            game.step()
        events = game.events(limit=500)["events"]
        assert reader.take(len(events)) == as_messages(events)


def test_more_events_than_are_read_at_once(game: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.stream._EVENTS_AT_ONCE", 2)
    game.step()
    events = game.events()["events"]
    assert len(events) > 4
    with stream(game, last=0) as reader:
        assert reader.take(len(events)) == as_messages(events)


def test_a_lobby_can_be_watched(any_site: Site) -> None:
    game = any_site.create("paulista", 0, visibility="public")
    with stream(game) as reader:
        snapshot = reader.next()
        assert (snapshot.type, snapshot.seq, snapshot.data["status"]) == ("snapshot", 0, "lobby")
        game.joined("Ana")
        assert reader.next() == Message("seat_joined", 1, game.events()["events"][0])


def test_the_host_watches_as_a_spectator(any_site: Site) -> None:
    game = any_site.create()
    with stream(game, game.host_token) as reader:
        snapshot = reader.next().data
        assert snapshot["viewer"] == {"seat": None, "team": None}
        assert [seat["cards"] for seat in snapshot["seats"]] == [None, None]


def test_a_snapshot_shows_the_readers_own_cards_alone(site: Site) -> None:
    hands = "3C 2C AC / KD JD QD / 6H 7H QH / 6S 7S QS"
    game = site.seated(table("paulista", hands, "4D").plays("3C"))
    for viewer in (0, 1, 2, 3, None):
        with stream(game, None if viewer is None else game.tokens[viewer]) as reader:
            shown = [seat["seat"] for seat in reader.next().data["seats"] if seat["cards"] is not None]
            assert shown == ([] if viewer is None else [viewer])


def test_events_are_lines_whatever_the_names_are(site: Site) -> None:
    game = site.create("paulista", 0, visibility="public")
    names = ["Zé da Esquina", "名字", '"a"{}:\\', "retry: 5"]
    for name in names:
        game.joined(name)
    with stream(game, last=0) as reader:
        assert [message.data["data"]["name"] for message in reader.take(4)] == names


# ---- going on ----


@pytest.mark.parametrize("back", [0, 1, 3])
def test_a_reader_goes_on_where_it_was(game: Started, back: int) -> None:
    game.step()
    events = game.events()["events"]
    last = events[-1]["seq"] - back
    with stream(game, game.tokens[0], last) as reader:
        assert reader.take(back) == as_messages(events[len(events) - back :])
        more = game.step()["events"]
        assert reader.take(len(more)) == as_messages(more)


def test_a_reader_that_was_away_for_too_long_gets_a_snapshot(clock: Clock) -> None:
    site = make_site(replace(UNLIMITED, events_kept=4), clock)
    game = site.create(visibility="public")
    for _ in range(4):
        game.step()
    page = game.events()
    oldest, last = page["oldest_seq"], page["next_after"]
    assert oldest > 2
    with stream(game, last=oldest - 1) as reader:
        assert reader.take(4) == as_messages(page["events"])
    for too_old in (oldest - 2, 0):
        with stream(game, last=too_old) as reader:
            snapshot = reader.next()
            assert (snapshot.type, snapshot.seq) == ("snapshot", last)
            more = game.events(after=last)["events"]
            assert more == []


def test_a_reader_that_falls_behind_gets_a_snapshot(clock: Clock) -> None:
    """A slow one: the events after those that it has read are not kept any more."""
    site = make_site(replace(UNLIMITED, events_kept=4), clock)
    game = site.create(visibility="public")
    with stream(game) as reader:
        assert reader.next().type == "snapshot"
        for _ in range(6):
            game.step()
        snapshot = reader.next()
        assert (snapshot.type, snapshot.seq) == ("snapshot", game.events()["next_after"])
        more = game.step()["events"]
        assert reader.take(len(more)) == as_messages(more)


@pytest.mark.parametrize("ahead", [1, 1_000, 10**15])
def test_a_reader_from_the_future_gets_a_snapshot(game: Started, ahead: int) -> None:
    last = game.events()["next_after"]
    with stream(game, last=last + ahead) as reader:
        snapshot = reader.next()
        assert (snapshot.type, snapshot.seq, snapshot.data["version"]) == ("snapshot", last, 1)
        more = game.step()["events"]
        assert reader.take(len(more)) == as_messages(more)


def test_a_store_that_has_lost_the_latest_events(game: Started) -> None:
    """As after a failover: the same numbers stand for other events from now on."""
    store, before = game.site.redis, game.load()
    with stream(game) as reader:
        assert reader.next().type == "snapshot"
        dumps = {key: store.dump(key) for key in store.keys(f"*{game.id}*")}
        events = game.step()["events"]
        assert reader.take(len(events)) == as_messages(events)
        for key, dump in dumps.items():
            store.restore(key, 0, dump, replace=True)
        store.publish(f"truco:{{{game.id}}}:commits", "1")
        snapshot = reader.next()
        assert (snapshot.type, snapshot.seq, snapshot.data["version"]) == ("snapshot", before.last_seq, before.version)
        again = game.step()["events"]
        assert reader.take(len(again)) == as_messages(again)


@pytest.mark.parametrize("last", ["abc", "-1", "1.5", "", " ", "1 2", "9" * 17, "0x1", "١"])
def test_a_last_event_that_is_no_number(site: Site, last: str) -> None:
    game = site.create(visibility="public")
    headers = {"Last-Event-ID": last.encode().decode("latin-1")}
    assert answer(asked(game, **headers)) == (400, "invalid_header")


# ---- the end ----


def test_it_ends_with_the_game(game: Started) -> None:
    with stream(game, game.tokens[1]) as reader:
        reader.next()
        game.resign()
        assert [message.type for message in reader.rest()] == ["resigned", "game_won"]


def test_of_a_finished_game_it_ends_at_once(game: Started) -> None:
    game.resign()
    events = game.events()["events"]
    with stream(game) as reader:
        [snapshot] = reader.rest()
        assert (snapshot.type, snapshot.data["status"]) == ("snapshot", "finished")
    with stream(game, last=events[-3]["seq"]) as reader:
        assert reader.rest() == as_messages(events[-2:])
    with stream(game, last=events[-1]["seq"]) as reader:
        assert reader.rest() == []


def test_the_rematch_of_a_finished_game_is_an_event_too(game: Started) -> None:
    game.resign()
    last = game.events()["next_after"]
    game.rematch(0)
    with stream(game, last=last) as reader:
        [created] = reader.rest()
        assert (created.type, created.data["data"]) == ("rematch_created", {"id": game.view(0)["rematch_id"]})


def test_it_ends_after_a_while(game: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.stream.LASTS_SECONDS", 0.0)
    with stream(game) as reader:
        assert [message.type for message in reader.rest()] == ["snapshot"]
    game.step()
    with stream(game, last=1) as reader:
        assert reader.rest() == as_messages(game.events(after=1)["events"])


def test_it_ends_when_the_process_shuts_down(any_site: Site, game: Started) -> None:
    with stream(game, game.tokens[0]) as reader, stream(game) as other:
        for each in (reader, other):
            assert each.next().type == "snapshot"
        any_site.background.drain()
        for each in (reader, other):
            assert each.rest() == []
    refused = asked(game)
    assert answer(refused) == (503, "draining")
    assert int(refused.headers["Retry-After"]) >= 1


def test_who_may_not_stream_is_told_so_while_the_process_shuts_down(site: Site) -> None:
    game = site.create()
    site.background.drain()
    assert answer(asked(game)) == (401, "missing_token")
    assert answer(asked(game, game.tokens[0])) == (503, "draining")


def test_it_ends_when_the_game_is_cancelled(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.stream.LOOKS_AGAIN_AFTER_SECONDS", 0.02)
    game = any_site.create("paulista", 1, visibility="public")
    with stream(game) as reader:
        reader.next()
        game.send("DELETE", "", token=game.host_token)
        assert reader.rest() == []
    assert answer(asked(game)) == (404, "game_not_found")


def test_it_ends_when_its_token_dies(any_site: Site) -> None:
    game = any_site.create("paulista", 2)
    with stream(game, game.tokens[1]) as reader, stream(game, game.tokens[0]) as other:
        reader.next()
        other.next()
        game.leave(1, game.host_token)
        assert reader.rest() == []
        assert other.next().type == "seat_left"
    assert answer(asked(game, game.tokens[1])) == (401, "invalid_token")


def test_it_ends_when_its_token_is_replaced(platform_site: Site) -> None:
    game = platform_site.create("mano-a-mano")
    with stream(game, game.tokens[0]) as reader, stream(game, game.tokens[1]) as other:
        reader.next()
        other.next()
        lost = game.reissued(0)
        assert reader.rest() == []
        acted = game.step()
        assert other.next().data == acted["events"][0]
    assert answer(asked(game, lost)) == (401, "invalid_token")


def test_it_ends_when_the_game_is_deleted(platform_site: Site) -> None:
    game = platform_site.create("mano-a-mano")
    with stream(game, game.tokens[0]) as reader:
        reader.next()
        assert game.delete().status_code == 204
        assert reader.rest() == []
    assert answer(asked(game, game.tokens[0])) == (404, "game_not_found")


def test_it_ends_when_the_store_goes_away(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.stream.LOOKS_AGAIN_AFTER_SECONDS", 0.02)
    with RedisServer() as server:
        site = make_site(replace(UNLIMITED, redis_url=server.url), clock)
        game = site.create(visibility="public")
        with stream(game) as reader:
            reader.next()
            server.kill()
            assert reader.rest() == []
        assert answer(asked(game)) == (503, "storage_unavailable")
        site.redis.close()


# ---- nothing happens ----


def test_a_comment_shows_that_it_is_still_there(game: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.stream.COMMENT_EVERY_SECONDS", 0.02)
    with stream(game) as reader:
        assert [reader.next_of_all().type for _ in range(4)] == ["snapshot", None, None, None]
        events = game.step()["events"]
        assert reader.take(len(events)) == as_messages(events)
        assert reader.next_of_all().type is None


def test_a_reader_that_has_everything_is_answered_at_once(game: Started) -> None:
    """Without it, its headers would come with the next event."""
    with stream(game, last=game.events()["next_after"]) as reader:
        assert reader.next_of_all().type is None
        events = game.step()["events"]
        assert reader.next_of_all() == as_messages(events)[0]


# ---- limits ----


@pytest.mark.parametrize("limit", ["waits_per_seat", "waits_per_address", "waits_per_worker"])
def test_where_no_place_is_free_it_ends_after_what_there_is(clock: Clock, limit: str) -> None:
    site = make_site(replace(UNLIMITED, **{limit: 1}), clock)  # type: ignore[arg-type]
    game = site.create(visibility="public")
    with stream(game, game.tokens[0]) as first:
        first.next()
        with stream(game, game.tokens[0]) as second:
            assert [message.type for message in second.rest()] == ["snapshot"]
        with stream(game, game.tokens[0], last=1) as third:
            assert third.rest() == as_messages(game.events(after=1)["events"])
        assert body_of(game.get(game.tokens[0], query_string={"after_version": 1, "wait": 25}))["version"] == 1
        events = game.step()["events"]
        assert first.take(len(events)) == as_messages(events)
    with stream(game, game.tokens[0]) as again:
        again.next()
        game.resign()
        assert len(again.rest()) == 2


def test_who_hangs_up_gives_its_place_back(site: Site) -> None:
    game = site.create(visibility="public")
    for _ in range(3):
        reader = Stream(game, game.tokens[0])
        reader.next()
        assert site.background.waiting._held["worker"] == 1
        reader.close()
        assert site.background.waiting._held == {}


def test_a_reader_that_never_reads_takes_no_place(site: Site) -> None:
    game = site.create(visibility="public")
    Stream(game).close()
    response = site.send("HEAD", f"{game.path}/events/stream", headers={"Accept": MEDIA_TYPE})
    assert (response.status_code, response.get_data(), response.mimetype) == (200, b"", MEDIA_TYPE)
    assert site.background.waiting._held == {}


# ---- who may, and what is said with it ----


def test_a_private_game_needs_one_of_its_tokens(site: Site) -> None:
    game, other = site.create(), site.create()
    assert answer(asked(game)) == (401, "missing_token")
    for token in (other.tokens[0], "x" * 43):
        assert answer(asked(game, token)) == (401, "invalid_token")
        public = site.create(visibility="public")
        assert answer(asked(public, token)) == (401, "invalid_token")
    for token in (*game.tokens.values(), game.host_token):
        with stream(game, token) as reader:
            assert reader.next().type == "snapshot"


def test_of_no_game_there_is_no_stream(site: Site) -> None:
    for game_id in ("0" * 26, "nothing", "../x"):
        response = site.send("GET", f"/v1/games/{game_id}/events/stream", headers={"Accept": MEDIA_TYPE})
        assert response.status_code == 404


def test_the_headers_keep_it_from_being_held_back(game: Started) -> None:
    game.resign()
    response = asked(game)
    assert response.headers["Content-Type"].startswith(MEDIA_TYPE)
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert "Content-Length" not in response.headers
    assert "Authorization" in response.headers["Vary"]
    assert "ETag" not in response.headers


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (None, 200),
        ("*/*", 200),
        ("text/*", 200),
        (MEDIA_TYPE, 200),
        ("application/json;q=0.9, text/event-stream", 200),
        ("application/json", 406),
        ("text/html", 406),
    ],
)
def test_what_a_reader_accepts(site: Site, accept: str | None, status: int) -> None:
    game = site.create(visibility="public")
    game.resign()
    headers = {} if accept is None else {"Accept": accept}
    response = game.send("GET", "/events/stream", headers=headers)
    assert response.status_code == status
    if status == 406:
        assert answer(response) == (406, "not_acceptable")


def test_other_operations_do_not_answer_with_a_stream(site: Site) -> None:
    game = site.create(visibility="public")
    for below in ("", "/events"):
        assert answer(game.send("GET", below, headers={"Accept": MEDIA_TYPE})) == (406, "not_acceptable")


def test_a_seat_that_streams_is_here(game: Started) -> None:
    def presences() -> list[Any]:
        return [seat["presence"] for seat in body_of(game.get(game.host_token))["seats"]]

    with stream(game), stream(game, game.host_token):
        assert presences() == ["away", "away"]
        with stream(game, game.tokens[1]):
            assert presences() == ["away", "here"]
        game.step()
        assert game.version == 2


def test_pages_and_the_stream_tell_the_same(site: Site) -> None:
    game = site.create(visibility="public", rules={"target": 2, "ladder": [1, 2]})
    with stream(game, game.tokens[0], last=0) as reader:
        while game.view(0)["status"] == "playing":
            game.step()
        streamed = reader.rest()
    assert streamed == as_messages(game.events(limit=500)["events"])


# ---- a real server ----


def test_each_message_is_sent_when_it_happens(live: Live) -> None:
    game = live.create()
    reading = {"stream": True, "timeout": PATIENCE_SECONDS}
    with requests.get(f"{game.url}/events/stream", headers=bearer(game.tokens[0]), **reading) as response:
        lines = response.iter_lines()
        assert [next(lines).partition(b":")[0] for _ in range(3)] == [b"id", b"event", b"data"]
        assert next(lines) == b""
        seq = game.step()["events"][0]["seq"]
        assert next(lines) == b"id: %d" % seq
    with requests.get(f"{game.url}/events/stream", headers={"Last-Event-ID": "10000"}, **reading) as response:
        assert response.status_code == 200
        assert next(response.iter_lines()).startswith(b"id: ")
    last = requests.get(f"{game.url}/events", timeout=PATIENCE_SECONDS).json()["next_after"]
    with requests.get(f"{game.url}/events/stream", headers={"Last-Event-ID": str(last)}, **reading) as response:
        assert next(response.iter_lines()) == COMMENT.encode()
        game.step()
