"""docs/capacity.md quotes what `make capacity` prints."""

from __future__ import annotations

from benchmarks.capacity import DOCUMENT, PLANS, SHARD_GB, queue, silent, with_tables


def test_the_document_has_the_tables_of_now() -> None:
    document = DOCUMENT.read_text("utf-8")
    assert with_tables(document) == document


def test_what_needs_more_people_needs_more_of_everything() -> None:
    small, middle, large = PLANS
    for needs in (lambda plan: plan.pods, lambda plan: plan.shards(7), lambda plan: plan.broadcast_cores):
        assert needs(small) < needs(middle) < needs(large)
    assert large.shards(7) * SHARD_GB.value >= large.gigabytes(7)


def test_a_storm_is_felt_less_when_it_is_spread() -> None:
    at_once = queue(1_000, 1_000, [(5.0, 1_000.0)] * 500)
    spread = queue(1_000, 1_000, [(5.0 + number / 100, 1_000.0) for number in range(500)])
    assert at_once.longest_ms >= 450
    assert spread.longest_ms < at_once.longest_ms / 2
    assert spread.calm_after < at_once.calm_after


def test_a_silent_shard_takes_less_of_the_places_the_more_shards_there_are() -> None:
    few, many = silent(2_000, 3, 20), silent(2_000, 24, 20)
    assert many.places < few.places
    assert many.late < few.late
