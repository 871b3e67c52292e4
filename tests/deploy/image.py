"""Builds and runs a stage of the Dockerfile without a container engine: its own commands, in a new root directory.

That directory holds what the steps put there, and this machine's Python and system libraries, read-only, in place of
the base image. Needs Linux, and to be root or user namespaces. An instruction that is not known here is an error.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from dockerfile_parse import DockerfileParser
from dockerfile_parse.util import extract_key_values

_SYSTEM = tuple(
    name for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev") if Path(name).exists()
)
_PYTHON = PurePosixPath("/base/bin")
"""Where the stand-in for the base image has its `python`."""
IS_ROOT = os.geteuid() == 0
_UNSHARE = ("unshare", "--mount", *(("--propagation", "private") if IS_ROOT else ("--map-root-user",)))


def is_possible() -> bool:
    """Whether this machine lets us mount what only we see."""
    return shutil.which("unshare") is not None and subprocess.run([*_UNSHARE, "true"], check=False).returncode == 0


@dataclass(frozen=True)
class Step:
    instruction: str
    value: str


@dataclass(frozen=True)
class Stage:
    base: str
    steps: tuple[Step, ...]


def stages(dockerfile: str) -> dict[str, Stage]:
    """By name, in the file's order."""
    found: dict[str, Stage] = {}
    for line in DockerfileParser(fileobj=io.BytesIO(dockerfile.encode())).structure:
        step = Step(line["instruction"], line["value"])
        if step.instruction == "FROM":
            base, _, name = step.value.partition(" AS ")
            found[name] = Stage(base, ())
        elif step.instruction != "COMMENT":
            name, stage = list(found.items())[-1]
            found[name] = replace(stage, steps=(*stage.steps, step))
    return found


@dataclass(frozen=True)
class Image:
    """What a stage has become."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    command: tuple[str, ...] = ()
    health_check: tuple[str, ...] = ()

    def start(self, command: tuple[str, ...], **environ: str) -> subprocess.Popen[bytes]:
        """As a container with a read-only root: *command* with the image's environment and *environ*, as its user."""
        inside = replace(self, environ={**self.environ, **environ})
        return inside._start(command, self.user, "mount -o remount,bind,ro .")

    def build_step(self, command: str, cache: str | None) -> None:
        """As root, with the root writable, and the directory *cache* that of this machine."""
        mounts = f"mkdir -p .{cache}; mount --bind {_pip_cache()} .{cache}" if cache else ""
        process = self._start(("/bin/sh", "-c", command), "0:0", mounts)
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command)

    def _start(self, command: tuple[str, ...], user: str, mounts: str) -> subprocess.Popen[bytes]:
        environ = [f"{name}={value}" for name, value in self.environ.items()]
        as_user = [f"--userspec={user}"] if IS_ROOT else []
        inside = ["chroot", *as_user, ".", "/usr/bin/env", "-i", "-C", self.workdir, *environ, *command]
        script = f"""
            mount --bind . . && cd "$PWD"
            for place in {shlex.join((*_SYSTEM, sys.base_prefix))}; do
                mkdir -p ".$place"
                mount --rbind "$place" ".$place"
                case $place in /dev | /proc) ;; *) mount -o remount,bind,ro ".$place" ;; esac
            done
            mount -t tmpfs -o mode=1777,size=64m tmpfs ./dev/shm
            {mounts}
            exec {shlex.join(inside)}
        """
        return subprocess.Popen([*_UNSHARE, "/bin/sh", "-euc", script], cwd=self.root)


def _pip_cache() -> str:
    pip = [sys.executable, "-m", "pip", "cache", "dir"]
    directory = subprocess.run(pip, capture_output=True, text=True, check=True).stdout.strip()
    Path(directory).mkdir(parents=True, exist_ok=True)
    return shlex.quote(directory)


class Builder:
    """Builds stages in *directory*, which every user has to be able to enter, with *context* to copy from."""

    def __init__(self, dockerfile: str, context: Path, directory: Path) -> None:
        self._stages = stages(dockerfile)
        self._context = context
        self._directory = directory
        self._ignored = _Ignored((context / ".dockerignore").read_text("utf-8"))

    def build(self, name: str) -> Image:
        """The stage and those it takes from, each time anew."""
        root = self._directory / name
        image = self._base(self._stages[name].base, root)
        for step in self._stages[name].steps:
            image = self._perform(step, image)
        return image

    def _base(self, name: str, root: Path) -> Image:
        if name in self._stages:
            base = self.build(name)
            return replace(base, root=base.root.rename(root))
        python = root / _PYTHON.relative_to("/") / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys._base_executable)} "$@"\n')  # type: ignore[attr-defined]
        python.chmod(0o755)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        return Image(root, {"PATH": f"{_PYTHON}:/usr/bin:/bin"})

    def _perform(self, step: Step, image: Image) -> Image:
        match step.instruction:
            case "WORKDIR":
                (image.root / step.value.lstrip("/")).mkdir(parents=True, exist_ok=True)
                return replace(image, workdir=step.value)
            case "ENV":
                pairs = extract_key_values(True, {}, image.environ, step.value)
                return replace(image, environ={**image.environ, **dict(pairs)})
            case "USER":
                return replace(image, user=step.value)
            case "CMD":
                return replace(image, command=tuple(json.loads(step.value)))
            case "HEALTHCHECK":
                return replace(image, health_check=tuple(json.loads(step.value.partition(" CMD ")[2])))
            case "RUN":
                _run(step.value, image)
            case "COPY":
                self._copy(step.value, image)
            case "EXPOSE":
                pass
            case _:
                raise NotImplementedError(step)
        return image

    def _copy(self, value: str, image: Image) -> None:
        *options, sources, target = _options(value)
        destination = image.root / (PurePosixPath(image.workdir) / target).relative_to("/")
        for source in sources.split():
            match options:
                case []:
                    self._copy_from_context(source, destination)
                case [option] if option.startswith("--from="):
                    origin = self.build(option.removeprefix("--from=")).root / source.lstrip("/")
                    shutil.copytree(origin, destination, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
                case _:
                    raise NotImplementedError(value)

    def _copy_from_context(self, source: str, destination: Path) -> None:
        origin = self._context / source
        files = [origin] if origin.is_file() else [path for path in origin.rglob("*") if path.is_file()]
        wanted = [file for file in files if not self._ignored(file.relative_to(self._context))]
        if not wanted:
            raise FileNotFoundError(f"COPY {source}: .dockerignore leaves nothing of it")
        for file in wanted:
            place = destination / (file.name if origin.is_file() else file.relative_to(origin))
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)


def _options(value: str) -> list[str]:
    """The options one by one, then the sources, then the target."""
    words = value.split()
    options = [word for word in words if word.startswith("--")]
    *sources, target = words[len(options) :]
    return [*options, " ".join(sources), target]


def _run(value: str, image: Image) -> None:
    cache = None
    while value.startswith("--"):
        option, _, value = value.partition(" ")
        mount = "--mount=type=cache,target="
        if not option.startswith(mount):
            raise NotImplementedError(option)
        cache = option.removeprefix(mount)
        value = value.lstrip()
    image.build_step(value, cache)


class _Ignored:
    """Whether .dockerignore keeps a path out: the last line that fits it, or a directory that it is in, decides."""

    def __init__(self, text: str) -> None:
        self._lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    def __call__(self, path: Path) -> bool:
        names = [str(parent) for parent in (path, *path.parents)][:-1]
        ignored = False
        for line in self._lines:
            pattern = line.removeprefix("!")
            if any(_fits(name, pattern) for name in names):
                ignored = not line.startswith("!")
        return ignored


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch(Path(name).name, pattern.removeprefix("**/"))
    return name.count("/") == pattern.count("/") and fnmatch(name, pattern)
