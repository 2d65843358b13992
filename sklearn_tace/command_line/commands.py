"""The commands ``report`` and ``compare``: what they print, write and return."""

import io
import sys
from pathlib import Path

import numpy as np

from sklearn_tace.command_line import files
from sklearn_tace.command_line.files import FileError, printable, restated, say
from sklearn_tace.command_line.stream import measure_all
from sklearn_tace.inference.comparison import compare


def report_on(options) -> int:
    """Measure one model."""
    targets = {"html": options.html, "json": options.json, "plot": options.plot}
    targets = {name: path for name, path in targets.items() if path is not None}
    _check_targets(targets, options)
    (report,) = measure_all(options, [options.scores])
    text = str(report)  # first, for the JSON holds what has been inferred
    make = {
        "html": lambda: report.to_html(name=options.name),
        "json": report.to_json,
        "plot": lambda: _picture(report, options),
    }
    contents = {path: make[name]() for name, path in targets.items()}
    text = contents.pop("-", text)
    for path, content in contents.items():
        files.write_file(path, content)
    print(text)
    limit = options.fail_above
    if limit is None or report.tace_ <= limit:
        return 0
    value = "undefined" if np.isnan(report.tace_) else f"{report.tace_:.6g}"
    say(f"gate failed: TACE is {value}, allowed is {limit:g}")
    return files.GATE_FAILED


def _check_targets(targets, options):
    """Refuse before the work starts what could not be written after it."""
    if options.kind is not None and options.plot is None:
        raise FileError("--kind says what --plot draws. Add --plot FILE.")
    if "-" in (options.html, options.plot):
        raise FileError("--html -: only --json can be printed. Name a file.")
    if options.json == "-" and sys.stdout is None:
        raise FileError("--json -: standard output is closed. Name a file.")
    specs = (options.labels, options.scores, options.weights)
    inputs = [spec.path for spec in specs if spec] + [options.classes or "-"]
    files.check_targets([path for path in targets.values() if path != "-"], inputs)
    if not {"html", "plot"} & set(targets):
        return
    try:
        import jinja2  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError as error:
        install = 'python -m pip install "sklearn-tace[plot]"'
        raise FileError(f"--html and --plot need matplotlib: {install}") from error
    known = sorted(Figure().canvas.get_supported_filetypes())
    if options.plot is not None and _suffix(options.plot) not in known:
        raise FileError(f"{options.plot}: pictures end in .{', .'.join(known)}.")


def _picture(report, options):
    from matplotlib.figure import Figure

    path, buffer = options.plot, io.BytesIO()
    look = {"ax": Figure(layout="constrained"), "name": options.name}
    with restated(path):
        display = report.plot(options.kind or "reliability", **look)
        try:
            display.figure_.savefig(buffer, format=_suffix(path))
        except RuntimeError as error:  # without the LaTeX that a .pgf needs
            raise FileError(f"{path} cannot be drawn: {error}") from error
    return buffer.getvalue()


def _suffix(path):
    return Path(path).suffix[1:].lower()


def compare_models(options) -> int:
    """Compare the first model with each of the others."""
    if len(options.scores) < 2:
        raise FileError("compare takes LABELS and two or more files of SCORES.")
    reports = measure_all(options, options.scores)
    first, *others = names = [printable(spec) for spec in options.scores]
    comparisons = []
    for other, report in zip(others, reports[1:], strict=True):
        with restated(f"{first} and {other}"):
            comparisons.append(compare(reports[0], report))
    _print_table(names, reports)
    failures = []
    for other, comparison in zip(others, comparisons, strict=True):
        _, interval, verdict = str(comparison).split("\n")
        print("\n" + interval.replace("first minus second", f"{first} minus {other}:"))
        print(verdict.replace("the first", first).replace("the second", other))
        low, high = comparison.interval
        if low <= 0 <= high:
            print("(more rows would tell more; the interval is conservative)")
        if options.fail_above is not None and -high > options.fail_above:
            failures.append(
                f"gate failed: {other} is worse calibrated than {first} by "
                f"{-high:.6g} or more, allowed is {options.fail_above:g}"
            )
    for failure in failures:
        say(failure)
    return files.GATE_FAILED if failures else 0


def _print_table(names, reports):
    width = max(map(len, names))
    level = f"{100 * reports[0].confidence_level:.4g}%"
    print(f"{'':<{width}}    TACE  debiased  {level} interval")
    for name, report in zip(names, reports, strict=True):
        low, high = report.interval_
        values = f"{report.tace_:.4f}    {report.debiased_tace_:.4f}"
        print(f"{name:<{width}}  {values}  {low:.4f} to {high:.4f}")
