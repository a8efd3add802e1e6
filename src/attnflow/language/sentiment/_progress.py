"""The progress of a training on standard error."""

import sys
from typing import Any


class TrainingProgress:
    """A bar on a terminal; elsewhere one line for each measurement; nothing with `show=False`."""

    def __init__(self, epochs: int, show: bool):
        self._bar = self._task = None
        self._show, self._epochs = show, epochs

    def __enter__(self) -> "TrainingProgress":
        if self._show:
            from rich.console import Console
            from rich.progress import Progress

            console = Console(stderr=True, highlight=False)
            if console.is_terminal:
                self._bar = Progress(console=console, transient=True)
                self._bar.start()
                self._task = self._bar.add_task("compiling", total=self._epochs)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, row: dict[str, Any]) -> None:
        line = f"epoch {row['epoch']}/{self._epochs}" + "".join(
            f", {name} loss {row[f'{name}_loss_softmax']:.4f} accuracy {row[f'{name}_accuracy_hardmax']:.3f}"
            for name in ("train", "test")
        )
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=row["epoch"], description=line)
        elif self._show:
            print(line, file=sys.stderr, flush=True)
