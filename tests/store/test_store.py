"""One suite for every store: the embedded one and a real server must keep the same promises."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import fakeredis
import pytest
import redis

from service.dealer import SeededDealer
from service.engine import flow
from service.engine.rules import PRESETS
from service.store.base import (
    PRESENT_SECONDS,
    Chair,
    EventPage,
    Game,
    ListPosition,
    LoggedEvent,
    RetryRecord,
    Status,
    StoreUnavailableError,
    VersionConflictError,
)
from service.store.redis import RedisGameStore, TimeToLive, channel
from tests.redis_server import RedisServer

EVENTS_KEPT = 5
TTL = TimeToLive(lobby=100, playing=200, finished=300)
ID = "0123456789abcdefghjkmnpqrs"
DAY_SECONDS = 86_400
DEADLINES = "truco:deadlines"
PLATFORM, OTHER_PLATFORM = b"p" * 16, b"q" * 16
MARK = b"gone"
RECORD = RetryRecord(b"b" * 32, b"n" * 32, (0,), 1, 2)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@pytest.fixture(params=["embedded", "server"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if request.param == "embedded":
        yield fakeredis.FakeRedis()
        return
    server: RedisServer = request.getfixturevalue("server")
    with redis.Redis.from_url(server.url) as real:
        real.flushall()
        yield real


@pytest.fixture
def store(client: redis.Redis) -> RedisGameStore:
    return RedisGameStore(client, TTL, EVENTS_KEPT)


def lobby(game_id: str = ID, created_at_ms: int = 1_000, variant: str = "paulista") -> Game:
    rules = PRESETS[variant].rules
    return Game(
        id=game_id,
        version=1,
        created_at_ms=created_at_ms,
        variant=variant,
        rules=rules,
        is_public=True,
        chairs=(Chair("Ana", b"a" * 32), *[Chair()] * (rules.seats - 1)),
        metadata={"table": "7"},
        seed=b"s" * 32,
        host_hash=b"h" * 32,
    )


def playing(game: Game) -> Game:
    dealer = SeededDealer()
    state = flow.new_game(game.rules, 0).state
    return replace(game, state=flow.start_hand(state, dealer.pack(game.seed, game.rules.deck, 1)).state)


def after(game: Game, events: int = 0) -> Game:
    return replace(game, version=game.version + 1, last_seq=game.last_seq + events)


def logged(game: Game, *seqs: int) -> list[LoggedEvent]:
    return [LoggedEvent(seq, game.version, 7, "card_played", 0, {"card": "7H", "covered": False}) for seq in seqs]


def stored(store: RedisGameStore, game_id: str = ID) -> Game | None:
    found = store.load(game_id)
    return None if found is None else found.game


def all_keys(client: redis.Redis) -> dict[bytes, tuple[object, int]]:
    return {key: (client.dump(key), client.ttl(key)) for key in client.keys("*")}


def test_what_is_committed_is_loaded(store: RedisGameStore) -> None:
    assert store.load(ID) is None
    game = lobby()
    store.commit(game, None, [])
    assert stored(store) == game
    started = playing(after(game))
    store.commit(started, game, [])
    assert stored(store) == started


def test_a_new_game_must_not_exist(store: RedisGameStore) -> None:
    store.commit(lobby(), None, [])
    with pytest.raises(VersionConflictError):
        store.commit(lobby(created_at_ms=2), None, [])
    assert stored(store) == lobby()


def test_of_two_writers_on_one_version_one_wins(store: RedisGameStore) -> None:
    game = lobby()
    store.commit(game, None, [])
    first, second = after(game, 1), replace(after(game, 1), created_at_ms=5)
    store.commit(first, game, logged(first, 1), ("0:7H",))
    with pytest.raises(VersionConflictError):
        store.commit(second, game, logged(second, 1), ("0:7D",))
    assert stored(store) == first
    assert store.actions(ID) == ("0:7H",)
    assert store.events(ID, 0, 10).events == tuple(logged(first, 1))


def test_two_writers_of_equal_states_are_still_two(store: RedisGameStore) -> None:
    """The same seat sends the same action twice at once: the states are equal, the commits are not."""
    game = lobby()
    store.commit(game, None, [])
    store.commit(after(game), game, [], ("0:7H",))
    with pytest.raises(VersionConflictError):
        store.commit(after(game), game, [], ("0:7H",))
    assert store.actions(ID) == ("0:7H",)


@pytest.mark.parametrize("repetition", range(20))
def test_racing_writers_never_both_win(store: RedisGameStore, repetition: int) -> None:
    game = lobby()
    store.commit(game, None, [])
    barrier, won = threading.Barrier(4), []

    def write(writer: int) -> None:
        barrier.wait()
        try:
            store.commit(after(game, 1), game, logged(after(game, 1), 1), (f"{writer}:7H",))
        except VersionConflictError:
            return
        won.append(writer)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1, repetition
    assert store.actions(ID) == (f"{won[0]}:7H",)


def test_a_commit_sent_twice_by_the_client_library_is_one(store: RedisGameStore) -> None:
    game = lobby()
    sent: list[tuple[list[str], list[object]]] = []
    script = store._commit

    def send_twice(keys: list[str], args: list[object]) -> object:
        sent.append((keys, args))
        script(keys=keys, args=args)  # type: ignore[arg-type]
        return script(keys=keys, args=args)  # type: ignore[arg-type]

    store._commit = send_twice  # type: ignore[assignment]
    store.commit(game, None, [])
    acted = after(game, 2)
    store.commit(acted, game, logged(acted, 1, 2), ("0:7H",))
    assert len(sent) == 2
    assert stored(store) == acted
    assert store.actions(ID) == ("0:7H",)
    assert [event.seq for event in store.events(ID, 0, 10).events] == [1, 2]


def test_a_gone_game_is_not_brought_back(store: RedisGameStore) -> None:
    game = lobby()
    store.commit(game, None, [])
    store.delete(game)
    with pytest.raises(VersionConflictError):
        store.commit(after(game), game, [])
    assert store.load(ID) is None


def test_delete_forgets_every_key_and_may_be_repeated(store: RedisGameStore, client: redis.Redis) -> None:
    game = replace(timed(ID, 5_000), last_seq=1, platform=PLATFORM)
    store.commit(game, None, logged(game, 1), ("0:7H",))
    store.mark_present(ID, 0)
    started = playing(after(game))
    store.commit(started, game, [])
    store.list_games(Status.LOBBY, None, 10, None)
    assert len(client.keys("*")) == 5 + 3 + 1, "state, log and so on; a hint that nobody has dropped yet; deadlines"
    store.delete(started)
    store.delete(started)
    assert client.keys("*") == []


def test_a_deleted_game_whose_requests_may_come_again_leaves_a_mark(store: RedisGameStore, client: redis.Redis) -> None:
    """It says nothing of the game, and goes when the requests' keys are forgotten."""
    game = lobby()
    store.commit(game, None, [], retry=("one", RECORD))
    store.commit(after(game), game, [])
    store.delete(after(game))
    key = f"truco:{{{ID}}}:state"
    assert client.keys("*") == [key.encode()]
    assert client.get(key) == MARK
    assert client.ttl(key) == DAY_SECONDS
    client.expire(key, 1_000)
    store.delete(after(game))
    assert (client.get(key), client.ttl(key)) == (MARK, 1_000), "also when the client library sends it twice"


def test_nothing_follows_a_mark(store: RedisGameStore, client: redis.Redis) -> None:
    game = replace(lobby(), platform=PLATFORM)
    store.commit(game, None, [], retry=("one", RECORD))
    store.delete(game)
    for late, previous in ((game, None), (after(game), game), (after(after(game)), after(game))):
        with pytest.raises(VersionConflictError):
            store.commit(late, previous, [], ("0:7H",), ("one", RECORD))
    assert store.load(ID) is None
    assert store.load(ID, "one") is None
    assert store.retry_record(ID, "one") is None
    for platform in (None, PLATFORM):
        assert client.zcard(list_key("lobby", platform)) == 1, "a hint of the commit that was refused"
        assert store.list_games(Status.LOBBY, None, 10, None, platform).games == ()
        assert client.zcard(list_key("lobby", platform)) == 0
    assert game_keys(client) == [f"truco:{{{ID}}}:state".encode()]


def test_what_cannot_be_read_is_not_made_anew(store: RedisGameStore, client: redis.Redis) -> None:
    client.set(f"truco:{{{ID}}}:state", b"of no format")
    with pytest.raises(VersionConflictError):
        store.commit(lobby(), None, [])
    assert client.get(f"truco:{{{ID}}}:state") == b"of no format"


def test_whoever_waits_is_rung_by_a_delete(store: RedisGameStore, client: redis.Redis) -> None:
    game = lobby()
    store.commit(game, None, [])
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(channel(ID))
        listener.get_message(timeout=1)
        with pytest.raises(VersionConflictError):
            store.delete(after(game))
        store.delete(game)
        store.delete(game)
        heard = [listener.get_message(timeout=5), listener.get_message(timeout=0)]
    assert [message and message["data"] for message in heard] == [MARK, None]


def test_a_game_that_has_moved_on_is_not_deleted(store: RedisGameStore) -> None:
    game = lobby()
    store.commit(game, None, [])
    store.commit(after(game), game, [])
    with pytest.raises(VersionConflictError):
        store.delete(game)
    assert stored(store) == after(game)


def test_events_are_read_from_where_one_left_off(store: RedisGameStore) -> None:
    game = replace(lobby(), last_seq=3)
    store.commit(game, None, logged(game, 1, 2, 3))
    assert store.events(ID, 0, 2) == EventPage(tuple(logged(game, 1, 2)), 1)
    assert store.events(ID, 2, 2) == EventPage(tuple(logged(game, 3)), 1)
    assert store.events(ID, 3, 2) == EventPage((), 1)


def test_only_the_newest_events_are_kept(store: RedisGameStore) -> None:
    game = replace(lobby(), last_seq=8)
    store.commit(game, None, logged(game, *range(1, 9)))
    page = store.events(ID, 0, 100)
    assert [event.seq for event in page.events] == [4, 5, 6, 7, 8]
    assert page.oldest_seq == 4


def game_keys(client: redis.Redis, game_id: str = ID) -> list[bytes]:
    return [key for key in client.keys("*") if game_id.encode() in key]


def test_every_key_of_a_game_shares_a_slot_and_lives_as_long(store: RedisGameStore, client: redis.Redis) -> None:
    game = replace(lobby(), last_seq=1)
    store.commit(game, None, logged(game, 1), ("0:7H",))
    keys = game_keys(client)
    assert len(keys) == 4
    assert all(f"{{{ID}}}".encode() in key for key in keys)
    assert {client.ttl(key) for key in keys} == {TTL.lobby}
    for key in keys:
        client.expire(key, 10)
    started = playing(after(game))
    store.commit(started, game, [])
    assert {client.ttl(key) for key in keys} == {TTL.playing}, "play renews the life of all keys"


def test_a_commit_is_published(store: RedisGameStore, client: redis.Redis) -> None:
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(channel(ID))
        listener.get_message(timeout=1)
        game = lobby()
        store.commit(game, None, [])
        store.commit(after(game), game, [])
        heard = []
        while len(heard) < 2 and (message := listener.get_message(timeout=5)):
            heard.append(message["data"])
    assert heard == [b"1", b"2"]


def test_public_games_are_listed_by_status_newest_first(store: RedisGameStore) -> None:
    ids = [ID[:-1] + last for last in "0123456789"]
    for place, game_id in enumerate(ids):
        store.commit(lobby(game_id, created_at_ms=1_000 + place // 2), None, [])
    started = lobby(ids[0])
    store.commit(playing(after(started)), started, [])
    page = store.list_games(Status.LOBBY, None, 4, None)
    assert [game.id for game in page.games] == ids[9:5:-1]
    rest = store.list_games(Status.LOBBY, None, 100, page.next)
    assert [game.id for game in rest.games] == ids[5:0:-1]
    assert rest.next is None
    assert [game.id for game in store.list_games(Status.PLAYING, None, 4, None).games] == [ids[0]]


def test_a_listing_passes_over_what_is_not_so_any_more(store: RedisGameStore, client: redis.Redis) -> None:
    kept, gone = lobby(ID[:-1] + "0"), lobby(ID[:-1] + "1")
    store.commit(kept, None, [])
    store.commit(gone, None, [])
    client.delete(*game_keys(client, gone.id))  # expired
    assert [game.id for game in store.list_games(Status.LOBBY, None, 10, None).games] == [kept.id]
    assert client.zrange("truco:games:lobby", 0, -1) == [kept.id.encode()], "and drops it from the list"


def test_a_listing_passes_over_what_only_a_newer_release_can_read(store: RedisGameStore, client: redis.Redis) -> None:
    known, newer = lobby(ID[:-1] + "0"), lobby(ID[:-1] + "1")
    store.commit(known, None, [])
    store.commit(newer, None, [])
    client.set(f"truco:{{{newer.id}}}:state", b"99 1 nonce whatever")
    assert [game.id for game in store.list_games(Status.LOBBY, None, 10, None).games] == [known.id]
    assert client.zcard("truco:games:lobby") == 2, "and leaves it in the list"
    with pytest.raises(StoreUnavailableError):
        store.load(newer.id)


def test_a_listing_filters_by_variant_over_many(store: RedisGameStore) -> None:
    ids = [f"{place:026d}" for place in range(250)]
    for place, game_id in enumerate(ids):
        variant = "simples" if place % 50 == 0 else "paulista"
        store.commit(lobby(game_id, created_at_ms=place, variant=variant), None, [])
    page = store.list_games(Status.LOBBY, "simples", 3, None)
    assert [game.created_at_ms for game in page.games] == [200, 150, 100]
    rest = store.list_games(Status.LOBBY, "simples", 3, page.next)
    assert [game.created_at_ms for game in rest.games] == [50, 0]


def test_a_page_looks_through_so_many_at_most(store: RedisGameStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """However rare the variant: then the page is short, and the next one goes on behind what was looked at."""
    monkeypatch.setattr("service.store.redis._CANDIDATES_AT_MOST", 20)
    ids = [f"{place:026d}" for place in range(70)]
    for place, game_id in enumerate(ids):
        variant = "simples" if place in (0, 31, 32) else "paulista"
        store.commit(lobby(game_id, created_at_ms=place // 3, variant=variant), None, [])
    for variant, limit, expected in (
        ("simples", 2, [[], [32, 31], [], [0]]),
        ("simples", 1, [[], [32], [31], [0]]),
        ("sulista", 5, [[], [], [], []]),
        (None, 30, [list(range(69, 49, -1)), list(range(49, 29, -1)), list(range(29, 9, -1)), list(range(9, -1, -1))]),
        (None, 20, [list(range(69, 49, -1)), list(range(49, 29, -1)), list(range(29, 9, -1)), list(range(9, -1, -1))]),
    ):
        pages, position = [], None
        while not pages or position is not None:
            page = store.list_games(Status.LOBBY, variant, limit, position)
            pages.append([int(game.id) for game in page.games])
            position = page.next
        assert pages == expected, (variant, limit)


def test_what_is_looked_through_in_vain_is_counted_too(
    store: RedisGameStore, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.store.redis._CANDIDATES_AT_MOST", 20)
    for place in range(50):
        client.zadd(list_key("lobby", None), {f"{place:026d}": place})
    sizes = []
    while size := client.zcard(list_key("lobby", None)):
        sizes.append(size)
        assert store.list_games(Status.LOBBY, None, 5, None).games == ()
    assert sizes == [50, 30, 10]


def test_the_newest_games_of_a_list_are_listed(store: RedisGameStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.redis.LISTED_AT_MOST", 3)
    ids = [f"{place:026d}" for place in range(5)]
    for place, game_id in enumerate(ids):
        store.commit(replace(lobby(game_id, created_at_ms=place), platform=PLATFORM), None, [])
    for platform in (None, PLATFORM):
        games = store.list_games(Status.LOBBY, None, 10, None, platform).games
        assert [game.id for game in games] == ids[:1:-1]


def list_key(status: str, platform: bytes | None) -> str:
    return f"truco:games:{status}" if platform is None else f"truco:games:{platform.hex()}:{status}"


def test_a_platforms_games_are_listed_by_status(store: RedisGameStore) -> None:
    """Public or not; nobody else's, and each in the list of its status."""
    ids = [f"{place:026d}" for place in range(4)]
    of = [(True, PLATFORM), (False, PLATFORM), (True, None), (False, OTHER_PLATFORM)]
    for place, (game_id, (is_public, platform)) in enumerate(zip(ids, of, strict=True)):
        game = replace(lobby(game_id, created_at_ms=place), is_public=is_public, platform=platform)
        store.commit(game, None, [])

    def listed(platform: bytes | None, status: Status = Status.LOBBY) -> list[str]:
        return [game.id for game in store.list_games(status, None, 10, None, platform).games]

    assert listed(PLATFORM) == [ids[1], ids[0]]
    assert listed(OTHER_PLATFORM) == [ids[3]]
    assert listed(None) == [ids[2], ids[0]]
    assert listed(b"r" * 16) == []
    private = replace(lobby(ids[1], created_at_ms=1), is_public=False, platform=PLATFORM)
    store.commit(playing(after(private)), private, [])
    assert listed(PLATFORM) == [ids[0]]
    assert listed(PLATFORM, Status.PLAYING) == [ids[1]]
    assert listed(None, Status.PLAYING) == []


def test_a_hint_is_held_against_the_game(store: RedisGameStore, client: redis.Redis) -> None:
    """A game shows in no list that it does not belong to, whatever the list says."""
    private = replace(lobby(), is_public=False, platform=PLATFORM)
    store.commit(private, None, [])
    wrong = [("lobby", None), ("lobby", OTHER_PLATFORM), ("playing", PLATFORM)]
    for status, platform in wrong:
        client.zadd(list_key(status, platform), {ID: 1_000})
        assert store.list_games(Status(status), None, 10, None, platform).games == ()
        assert client.zcard(list_key(status, platform)) == 0
    assert [game.id for game in store.list_games(Status.LOBBY, None, 10, None, PLATFORM).games] == [ID]


def test_private_games_are_not_listed(store: RedisGameStore) -> None:
    store.commit(replace(lobby(), is_public=False, join_code="ABCDEFGH"), None, [])
    assert store.list_games(Status.LOBBY, None, 10, None).games == ()


def test_a_position_past_the_end_lists_nothing(store: RedisGameStore) -> None:
    store.commit(lobby(), None, [])
    assert store.list_games(Status.LOBBY, None, 10, ListPosition(0, ID)).games == ()


# ---- requests that may be sent again ----


def retry_of(store: RedisGameStore, name: str | None, game_id: str = ID) -> RetryRecord | None:
    found = store.load(game_id, name)
    assert found is not None
    return found.retry


def test_a_commit_leaves_the_record_of_its_request(store: RedisGameStore) -> None:
    game = lobby()
    store.commit(game, None, [], retry=("one", RECORD))
    second = replace(RECORD, seats=(), first_seq=3)
    store.commit(after(game), game, [], ("0:7H",), ("two", second))
    assert retry_of(store, "one") == RECORD
    assert retry_of(store, "two") == second
    assert retry_of(store, "three") is None
    assert retry_of(store, None) is None


def test_a_record_outlives_a_game_that_expires(store: RedisGameStore, client: redis.Redis) -> None:
    assert store.retry_record(ID, "one") is None
    store.commit(lobby(), None, [], retry=("one", RECORD))
    assert store.retry_record(ID, "one") == RECORD
    assert store.retry_record(ID, "two") is None
    assert store.retry_record(ID[::-1], "one") is None
    client.delete(*(key for key in game_keys(client) if client.ttl(key) == TTL.lobby))
    assert store.load(ID, "one") is None
    assert store.retry_record(ID, "one") == RECORD


def test_a_commit_that_lost_leaves_no_record(store: RedisGameStore, client: redis.Redis) -> None:
    game = lobby()
    store.commit(game, None, [])
    store.commit(after(game), game, [])
    before = all_keys(client)
    with pytest.raises(VersionConflictError):
        store.commit(after(game), game, [], retry=("one", RECORD))
    with pytest.raises(VersionConflictError):
        store.commit(lobby(), None, [], retry=("one", RECORD))
    assert all_keys(client) == before


def test_records_are_in_the_games_slot_and_kept_a_day(store: RedisGameStore, client: redis.Redis) -> None:
    game = lobby()
    store.commit(game, None, [], retry=("one", RECORD))
    [key] = [key for key in game_keys(client) if b"retries" in key]
    client.expire(key, 1_000)
    store.commit(after(game), game, [], retry=("two", RECORD))
    assert client.ttl(key) == DAY_SECONDS
    assert client.hlen(key) == 2
    assert retry_of(store, "one") == RECORD


def test_a_record_is_in_the_games_slot_and_kept_a_day(store: RedisGameStore, client: redis.Redis) -> None:
    game = lobby()
    store.commit(game, None, [], retry=("one", RECORD))
    [key] = [key for key in game_keys(client) if b"retries" in key]
    assert f"{{{ID}}}".encode() in key
    assert client.ttl(key) == DAY_SECONDS
    client.expire(key, 1_000)
    store.commit(after(game), game, [])
    assert client.ttl(key) == 1_000, "other commits do not renew it"


def test_a_commit_with_a_record_sent_twice_is_one(store: RedisGameStore, client: redis.Redis) -> None:
    game = lobby()
    script = store._commit

    def send_twice(keys: list[str], args: list[object]) -> object:
        script(keys=keys, args=args)  # type: ignore[arg-type]
        once = all_keys(client)
        answer = script(keys=keys, args=args)  # type: ignore[arg-type]
        assert all_keys(client) == once
        return answer

    store._commit = send_twice  # type: ignore[assignment]
    store.commit(replace(game, last_seq=1), None, logged(game, 1), ("0:7H",), ("one", RECORD))
    assert retry_of(store, "one") == RECORD


def test_of_two_requests_of_one_name_one_reserves_the_id(store: RedisGameStore, client: redis.Redis) -> None:
    other = ID[::-1]
    assert store.reserve_id("one", ID) == ID
    assert store.reserve_id("one", ID) == ID, "also when the client library sends it twice"
    assert store.reserve_id("one", other) == ID
    assert store.reserve_id("two", other) == other
    assert {client.ttl(key) for key in client.keys("*")} == {DAY_SECONDS}


# ---- time ----


def test_the_time_is_the_stores(store: RedisGameStore, client: redis.Redis) -> None:
    store.commit(lobby(), None, [])
    seconds, _ = client.time()
    found = store.load(ID)
    assert found is not None
    assert seconds * 1000 <= found.now_ms <= store.now_ms() <= (seconds + 60) * 1000


def test_a_clock_takes_its_place(client: redis.Redis) -> None:
    store = RedisGameStore(client, TTL, EVENTS_KEPT, lambda: 7)
    store.commit(lobby(), None, [])
    found = store.load(ID)
    assert found is not None
    assert (found.now_ms, store.now_ms()) == (7, 7)


# ---- who is there ----


def present(store: RedisGameStore, game_id: str = ID) -> frozenset[int]:
    found = store.load(game_id)
    assert found is not None
    return found.present


def test_a_seat_is_there_for_a_while(store: RedisGameStore, client: redis.Redis) -> None:
    other = ID[::-1]
    for game_id in (ID, other):
        store.commit(lobby(game_id), None, [])
    assert present(store) == frozenset()
    store.mark_present(ID, 0)
    store.mark_present(ID, 3)
    assert present(store) == frozenset((0, 3))
    assert present(store, other) == frozenset()
    [key] = [key for key in game_keys(client) if b"presence" in key]
    assert f"{{{ID}}}".encode() in key
    assert client.ttl(key) == PRESENT_SECONDS
    client.zadd(key, {"3": store.now_ms() - 1})
    assert present(store) == frozenset((0,))
    store.mark_present(ID, 3)
    assert present(store) == frozenset((0, 3))


def test_presence_is_no_commit(store: RedisGameStore) -> None:
    store.commit(lobby(), None, [])
    store.mark_present(ID, 0)
    assert stored(store) == lobby()


def test_who_was_there_is_forgotten_with_the_game(store: RedisGameStore, client: redis.Redis) -> None:
    store.commit(lobby(), None, [])
    store.mark_present(ID, 0)
    store.delete(lobby())
    assert not game_keys(client)


# ---- deadlines ----


def timed(game_id: str, deadline_ms: int | None) -> Game:
    return replace(lobby(game_id), turn_seconds=30, deadline_ms=deadline_ms)


def test_a_commit_notes_its_deadline(store: RedisGameStore, client: redis.Redis) -> None:
    """Never later than another one, which may still stand; whoever looks too early puts it right."""
    store.commit(timed(ID, 5_000), None, [])
    store.commit(timed(ID[::-1], None), None, [])
    assert client.zrange(DEADLINES, 0, -1, withscores=True) == [(ID.encode(), 5_000.0)]
    with pytest.raises(VersionConflictError):
        store.commit(timed(ID, 9_000), None, [])
    store.commit(after(timed(ID, 7_000)), timed(ID, 5_000), [])
    assert client.zrange(DEADLINES, 0, -1, withscores=True) == [(ID.encode(), 5_000.0)]
    store.set_deadline(ID, 7_000)
    store.commit(after(after(timed(ID, 6_000))), after(timed(ID, 7_000)), [])
    assert client.zrange(DEADLINES, 0, -1, withscores=True) == [(ID.encode(), 6_000.0)]


def test_only_what_is_overdue_is_claimed(store: RedisGameStore) -> None:
    now_ms = store.now_ms()
    store.set_deadline("past", now_ms - 1)
    store.set_deadline("long past", 1)
    store.set_deadline("to come", now_ms + 60_000)
    store.set_deadline("none", 1)
    store.set_deadline("none", None)
    assert store.claim_overdue(10) == ("long past", "past")


def test_what_is_claimed_comes_up_again_after_its_lease(store: RedisGameStore, client: redis.Redis) -> None:
    store.set_deadline(ID, 1)
    assert store.claim_overdue(10) == (ID,)
    assert store.claim_overdue(10) == ()
    [(_, due_ms)] = client.zrange(DEADLINES, 0, -1, withscores=True)
    assert store.now_ms() < due_ms <= store.now_ms() + 1_000
    client.zincrby(DEADLINES, -1_000, ID)
    assert store.claim_overdue(10) == (ID,)
    store.set_deadline(ID, None)
    assert client.zcard(DEADLINES) == 0


def test_no_more_are_claimed_than_asked_for(store: RedisGameStore) -> None:
    for place in range(5):
        store.set_deadline(f"game {place}", place + 1)
    assert store.claim_overdue(3) == ("game 0", "game 1", "game 2")
    assert store.claim_overdue(3) == ("game 3", "game 4")


def test_callers_share_what_is_overdue(store: RedisGameStore) -> None:
    ids = {f"game {place}" for place in range(60)}
    for game_id in ids:
        store.set_deadline(game_id, 1)
    barrier = threading.Barrier(4)
    claimed: list[str] = []

    def claim() -> None:
        barrier.wait()
        while mine := store.claim_overdue(5):
            claimed.extend(mine)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == len(ids)
    assert set(claimed) == ids


def test_a_dead_server_is_unavailable_and_comes_back() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        client = redis.Redis.from_url(server.url, socket_timeout=1, socket_connect_timeout=1, retry=None)
        store = RedisGameStore(client, TTL, EVENTS_KEPT)
        game = replace(lobby(), last_seq=1)
        store.commit(game, None, logged(game, 1))
        server.kill()
        for attempt in (
            lambda: store.load(ID),
            lambda: store.commit(after(game), game, []),
            lambda: store.delete(game),
            lambda: store.events(ID, 0, 10),
            lambda: store.actions(ID),
            lambda: store.list_games(Status.LOBBY, None, 10, None),
            lambda: store.list_games(Status.LOBBY, None, 10, None, PLATFORM),
            lambda: store.reserve_id("name", ID),
            lambda: store.retry_record(ID, "name"),
            store.now_ms,
            lambda: store.mark_present(ID, 0),
            lambda: store.claim_overdue(1),
            lambda: store.set_deadline(ID, 7),
            lambda: store.set_deadline(ID, None),
            store.ping,
        ):
            with pytest.raises(StoreUnavailableError):
                attempt()
        server.start()
        assert stored(store) == game
        store.commit(after(game), game, [])
        client.close()


def test_a_kept_state_is_read_again_only_if_another_commit_has_stored_it(client: redis.Redis) -> None:
    store, another = (RedisGameStore(client, TTL, EVENTS_KEPT, states_kept=kept) for kept in (10, 0))
    first = store.commit(lobby(), None, []).game
    found = store.load(ID)
    assert found is not None and found.game is first

    second = another.commit(replace(first, version=2, join_code="2" * 8), first, []).game
    found = store.load(ID)
    assert found is not None and found.game == second

    lost = replace(second, join_code="3" * 8)  # by a failover, and the version was given again
    client.delete(f"truco:{{{ID}}}:state")
    another.commit(lost, None, [])
    found = store.load(ID)
    assert found is not None and (found.game.version, found.game.join_code) == (2, "3" * 8)
