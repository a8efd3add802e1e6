"""What a person sees while experiments run: a bar with an estimate, on standard error."""

import sys
from typing import Any, Protocol, runtime_checkable

from ._experiment import Experiment


@runtime_checkable
class Progress(Protocol):
    """Told by the runner what happens; used as a context."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> Any: ...
    def start(self, cells: int) -> None: ...
    def begin(self, task: Any) -> None: ...
    def finish(self, task: Any, outcome: Any) -> None: ...
    def judging(self, experiment: Experiment) -> None: ...
    def say(self, sentence: str) -> None: ...


class Silent:
    """Tells nothing."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *error: Any) -> None: ...
    def start(self, cells: int) -> None: ...
    def begin(self, task: Any) -> None: ...
    def finish(self, task: Any, outcome: Any) -> None: ...
    def judging(self, experiment: Experiment) -> None: ...
    def say(self, sentence: str) -> None: ...


class Bar:
    """A bar on a terminal; where standard error is a file or a pipe, one line for each cell."""

    def __init__(self):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Columns

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = self._console.is_terminal
        self._columns = Columns(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("cells ·"),
            TimeElapsedColumn(),
            TextColumn("· about"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._console,
            disable=not self._live,
            redirect_stdout=sys.stdout.isatty(),  # a pipe gets what is printed
            transient=True,
        )
        self._bar = None
        self._seen: set[str] = set()
        self._done, self._total = 0, 0

    def __enter__(self) -> "Bar":
        self._columns.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._columns.stop()

    def start(self, cells: int) -> None:
        self._total = cells
        self._bar = self._columns.add_task("starting", total=cells)

    def begin(self, task: Any) -> None:
        """The first cell of an experiment waits for the compiler, and a person should know why."""
        name = task.experiment.id
        first = name not in self._seen
        self._seen.add(name)
        self._describe(f"{name} · compiling" if first else name)
        if first and not self._live:
            self.say(f"{name}: compiling, then computing")

    def finish(self, task: Any, outcome: Any) -> None:
        self._done += 1
        name = task.experiment.id
        if outcome.status == "crashed":
            self.say(f"{name}: {outcome.sentence}")
        elif not self._live:
            took = "found" if outcome.status == "reused" else f"{outcome.seconds:.1f} s"
            cell = ", ".join(f"{k}={v}" for k, v in task.cell.items())
            self.say(f"[{self._done}/{self._total}] {name}: {cell}: {took}")
        self._describe(name)
        if self._bar is not None:
            self._columns.advance(self._bar)

    def judging(self, experiment: Experiment) -> None:
        self._describe(f"{experiment.id} · judging and drawing")

    def say(self, sentence: str) -> None:
        if self._live:
            self._console.print(sentence, markup=False)
        else:
            print(sentence, file=sys.stderr, flush=True)

    def _describe(self, text: str) -> None:
        if self._bar is not None:
            self._columns.update(self._bar, description=text)
