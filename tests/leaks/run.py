"""Plants leaks, one at a time in a copy of the tree, and sees that the redaction tests catch each.

    python -m tests.leaks.run [--tests FILE ...] [--leaks NAME ...]

A leak is a file `<name>.patch` beside this one: a sentence that says what leaks, and a unified diff. It is applied by
its text, wherever that stands now; what stands nowhere, or twice, does not apply. Prints a line per leak and last the
count; exit code 1 if one is not caught or does not apply, or if the tests fail without any.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LEAKS: Final = Path(__file__).parent
COPIED: Final = ("service", "tests", "openapi.yaml", "pyproject.toml")
TESTS: Final = ("tests/api/test_redaction.py", "tests/engine/test_redaction.py")
AT_ONCE: Final = 2
LONGEST_SECONDS: Final = 600

_HUNK: Final = re.compile(r"^@@ .*@@.*\n", re.MULTILINE)
_FILE: Final = re.compile(r"^--- a/(?P<path>.+)\n\+\+\+ b/(?P=path)\n", re.MULTILINE)
_FAILED: Final = re.compile(r"^FAILED (?P<test>\S+?::.+?) - (?P<error>.*)$", re.MULTILINE)
_ASSERTION: Final = re.compile(r"assert\b|(\w+\.)*(AssertionError|ContractBrokenError)\b")


class PatchError(Exception):
    """A patch that does not apply."""


@dataclass(frozen=True)
class Leak:
    """`changes`: file, its text before and after, in order."""

    name: str
    sentence: str
    changes: tuple[tuple[str, str, str], ...]


NO_LEAK: Final = Leak("none", "Nothing leaks.", ())


def read_leak(path: Path) -> Leak:
    sentence, *files = re.split(r"(?m)^(?=--- a/)", path.read_text("utf-8"))
    changes = [change for file in files for change in _changes(path.name, file)]
    if not changes:
        raise PatchError(f"{path.name} changes nothing")
    return Leak(path.stem, sentence.strip(), tuple(changes))


def _changes(name: str, diff: str) -> Iterator[tuple[str, str, str]]:
    """The hunks of one file of a unified diff."""
    head = _FILE.match(diff)
    if head is None:
        raise PatchError(f"{name} must name the same file after --- and +++")
    for hunk in _HUNK.split(diff[head.end() :])[1:]:
        lines = [line if line != "\n" else " \n" for line in hunk.splitlines(keepends=True)]
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        yield head["path"], before, after


def plant(leak: Leak, tree: Path) -> None:
    """Raises `PatchError` unless each change finds its text exactly once."""
    for name, before, after in leak.changes:
        path = tree / name
        text = path.read_text("utf-8") if path.exists() else ""
        found = text.count(before)
        if found != 1:
            raise PatchError(f"{name} has these lines {found} times:\n{before}")
        path.write_text(text.replace(before, after), "utf-8")


@dataclass(frozen=True)
class Verdict:
    leak: Leak
    is_right: bool
    words: str
    """How it went, in a line."""
    output: str = ""


def judge(leak: Leak, tests: Sequence[str]) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="truco-leak-") as directory:
        tree = Path(directory)
        _copy(tree)
        try:
            plant(leak, tree)
        except PatchError as error:
            return Verdict(leak, False, "does not apply", str(error))
        begun = time.monotonic()
        code, output = _run_tests(tree, tests)
        return _verdict(leak, code, output, time.monotonic() - begun)


def _copy(tree: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)


def _run_tests(tree: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Pytest's exit code and output; no plugin is loaded, as none is needed and each takes its time."""
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
    command = [sys.executable, "-m", "pytest", *tests, "-x", "--tb=line", "-rf", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, "-o", "addopts=-q"],
            cwd=tree,
            env=environ,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"the tests took more than {LONGEST_SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def _verdict(leak: Leak, code: int, output: str, seconds: float) -> Verdict:
    took = f"{seconds:.0f} s"
    failed = _FAILED.search(output)
    if leak is NO_LEAK:
        return Verdict(leak, code == 0, f"the tests {'pass' if code == 0 else 'fail'}, {took}", output)
    if code == 0:
        return Verdict(leak, False, f"NOT CAUGHT, {took}")
    if code != 1 or failed is None:
        return Verdict(leak, False, f"the tests do not run, {took}", output)
    if not _ASSERTION.match(failed["error"]):
        return Verdict(leak, False, f"breaks {failed['test']} by {failed['error']}, {took}", output)
    return Verdict(leak, True, f"caught by {failed['test']}, {took}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Plants leaks and sees that the redaction tests catch each.")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="FILE", help="the tests that should catch them")
    parser.add_argument("--leaks", nargs="+", metavar="NAME", help="only these")
    asked = parser.parse_args()
    paths = sorted(path for path in LEAKS.glob("*.patch") if asked.leaks is None or path.stem in asked.leaks)
    try:
        leaks = [read_leak(path) for path in paths]
    except PatchError as error:
        print(error)
        return 1
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for verdict in pool.map(lambda leak: judge(leak, asked.tests), [NO_LEAK, *leaks]):
            print(f"{verdict.leak.name}: {verdict.words}", flush=True)
            verdicts.append(verdict)
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    for verdict in wrong:
        print(f"\n{verdict.leak.name}: {verdict.leak.sentence}\n{verdict.output.strip()}")
    print(f"\n{sum(verdict.is_right for verdict in verdicts[1:])} of {len(leaks)} leaks caught")
    return 1 if wrong or not leaks else 0


if __name__ == "__main__":
    sys.exit(main())
