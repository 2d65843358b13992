"""What a terminal shows of work that takes long."""

from __future__ import annotations

import contextlib
import sys

from sklearn_tace.command_line.files import printable

SECONDS = 1  # after which it is shown


@contextlib.contextmanager
def progress(name, n_rows):
    """A function that takes the number of rows done; a bar, on a terminal."""
    tqdm = _load_tqdm()
    if tqdm is None:
        yield lambda n_rows: None
        return
    look = {"unit": " rows", "unit_scale": True, "leave": False}
    with tqdm(total=n_rows, desc=printable(name), delay=SECONDS, **look) as bar:
        yield bar.update


def run_steps(steps, is_long):
    """What each step makes, by its name; a terminal shows which step runs."""
    tqdm = _load_tqdm() if is_long else None
    if tqdm is None:
        return {name: make() for name, make in steps.items()}
    made = {}
    look = {"bar_format": "{desc} ({n_fmt} of {total_fmt} done)", "leave": False}
    with tqdm(total=len(steps), **look) as bar:
        for name, make in steps.items():
            bar.set_description_str(printable(name))
            made[name] = make()
            bar.update()
    return made


def _load_tqdm():
    """The class of progress bars; None without a terminal or an installed tqdm."""
    if sys.stderr is not None and sys.stderr.isatty():
        with contextlib.suppress(ImportError):
            from tqdm import tqdm

            return tqdm
    return None
