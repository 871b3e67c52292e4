"""`make clients`: makes clients in five languages from openapi.yaml, in build/clients, by what `clients/` sets.

Whatever a generator says beyond its usual chatter is a warning. It fails the run unless it is one of `NOT_OURS`, which
are told at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "openapi.yaml"
SETUP = ROOT / "clients"
BUILD = ROOT / "build" / "clients"

TOOLS = Path(sys.executable).parent
"""Where the generators are installed, and the Node.js and the Java that they run on."""
ENVIRON = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ.get('PATH', '')}"}

NOT_OURS = {
    "OpenAPI 3.1 support is still in beta": "openapi-generator says so of itself, whatever the file is",
    "Failed to get the schema name: null": (
        "openapi-generator takes the false of `additionalProperties: false` for a reference without a name, in every "
        "3.1 file that has a closed object"
    ),
}
CHATTER = re.compile(
    r"\[[\w-]+\] INFO .*"  # the steps of openapi-generator,
    r"|#.*"  # and its thanks
    r"|Generating \S+"  # openapi-python-client
    r"|✨ openapi-typescript [\d.]+|🚀 .+ → .+"
    r"|\s*"
)


class GeneratorError(Exception):
    """A generator failed, or gave a warning that is ours."""


def main() -> int:
    shutil.rmtree(BUILD, ignore_errors=True)
    warned: Counter[str] = Counter()
    for language, generate in LANGUAGES.items():
        started = time.monotonic()
        folder = BUILD / language
        folder.mkdir(parents=True)
        warnings = [_not_ours(line) for line in generate(folder).splitlines() if not CHATTER.fullmatch(line)]
        warned.update(warnings)
        print(f"{language:11}{len(warnings)} warnings {time.monotonic() - started:5.1f} s", flush=True)
    for warning, times in warned.items():
        print(f"{times} times: {warning}\n  not ours: {NOT_OURS[warning]}")
    return 0


def python(folder: Path) -> str:
    return run(
        *("openapi-python-client", "generate", "--path", CONTRACT, "--output-path", folder / "truco_client"),
        *("--config", SETUP / "python.yaml", "--custom-template-path", SETUP / "python-templates"),
        *("--meta", "none", "--fail-on-warning"),
    )


def typescript(folder: Path) -> str:
    shutil.copytree(SETUP / "typescript", folder, dirs_exist_ok=True)
    run("npm", "ci", "--no-audit", "--no-fund", cwd=folder)
    return run(
        *(folder / "node_modules/.bin/openapi-typescript", CONTRACT, "--output", "schema.d.ts"),
        *("--root-types", "--root-types-no-schema-prefix"),
        "--default-non-nullable=false",  # a member of a request that has a default may be left out
        cwd=folder,
    )


def kotlin(folder: Path) -> str:
    return openapi_generator("kotlin.yaml", folder)


def swift(folder: Path) -> str:
    return openapi_generator("swift.yaml", folder)


def csharp(folder: Path) -> str:
    return openapi_generator("csharp.yaml", folder)


LANGUAGES = {"python": python, "typescript": typescript, "kotlin": kotlin, "swift": swift, "csharp": csharp}
"""What each generator said, by the folder below `BUILD` that it fills."""


def openapi_generator(setup: str, folder: Path) -> str:
    return run(
        *("openapi-generator-cli", "generate", "--input-spec", CONTRACT, "--config", SETUP / setup),
        *("--output", folder, "--global-property", "apiDocs=false,apiTests=false,modelDocs=false,modelTests=false"),
    )


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What *command* printed. Raises `GeneratorError` if it failed."""
    ran = subprocess.run(
        command,
        cwd=cwd,
        env=ENVIRON,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if ran.returncode != 0:
        raise GeneratorError(f"{command[0]} failed:\n{ran.stdout}")
    return ran.stdout


def _not_ours(line: str) -> str:
    """The warning of `NOT_OURS` that *line* is. Raises `GeneratorError` if it is none."""
    for warning in NOT_OURS:
        if " WARN " in line and warning in line:
            return warning
    raise GeneratorError(f"a warning that is ours: {line}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GeneratorError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
