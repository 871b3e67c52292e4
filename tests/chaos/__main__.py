"""Runs the scripts by name; all of them without one."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.chaos import clock, cluster, outage, retries, sentinel, sigterm, slow_clients, waiters, waking
from tests.chaos.wire import Violation

SCRIPTS = {
    "retries": retries.retries,
    "killed-workers": retries.killed_workers,
    "killed-redis": retries.killed_redis,
    "stopped-redis": retries.stopped_redis,
    "cluster": cluster.cluster,
    "sentinel": sentinel.sentinel,
    "outage": outage.outage,
    "slow-clients": slow_clients.slow_clients,
    "clock": clock.clock,
    "sigterm": sigterm.sigterm,
    "waking": waking.waking,
    "waiters": waiters.waiters,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCRIPTS))
    names = parser.parse_args().names or list(SCRIPTS)
    if unknown := set(names) - set(SCRIPTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; the scripts are {', '.join(SCRIPTS)}")
    return 1 if [name for name in names if not _passes(name)] else 0


def _passes(name: str) -> bool:
    script = SCRIPTS[name]
    print(f"{name}: {(script.__doc__ or '').splitlines()[0]}", flush=True)
    started = time.monotonic()
    try:
        lines = script()
    except Violation as violation:
        lines = [f"VIOLATION: {violation}", *getattr(violation, "__notes__", ())]
        is_right = False
    except Exception:
        lines = [traceback.format_exc()]
        is_right = False
    else:
        is_right = True
    for line in lines:
        print(f"  {line}")
    print(f"  {'ok' if is_right else 'FAILED'} after {time.monotonic() - started:.0f} s", flush=True)
    return is_right


if __name__ == "__main__":
    sys.exit(main())
