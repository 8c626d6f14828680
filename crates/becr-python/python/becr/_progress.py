"""Progress bars, in terminals and notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Told the stage, how much of it is done, and how much there is, if known.
Progress = Callable[[str, int, "int | None"], object]


@contextmanager
def watched(progress: bool | Progress) -> Iterator[Progress | None]:
    """What the native part calls: a bar of tqdm, the caller's own function, or nothing."""
    if callable(progress):
        yield progress
    elif progress:
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield None


class _Bar:
    def __init__(self) -> None:
        self.bar: Any = None
        self.stage = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage != self.stage:
            self.close()
            self.stage = stage
            with warnings.catch_warnings():
                # Without ipywidgets tqdm warns, and draws its bar as text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm

                self.bar = tqdm(desc=stage, total=total, leave=False)
        if self.bar is not None:
            self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
