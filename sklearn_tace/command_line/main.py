"""The command line: ``sklearn-tace`` and ``python -m sklearn_tace``."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.command_line.faults import reworded
from sklearn_tace.command_line.files import (
    FileError,
    check_target,
    parse_spec,
    printable,
    readable,
    write_files,
)
from sklearn_tace.command_line.inputs import classes_file
from sklearn_tace.command_line.progress import run_steps
from sklearn_tace.command_line.stream import measure_all
from sklearn_tace.command_line.tables import is_number
from sklearn_tace.inference.comparison import compare
from sklearn_tace.inputs.predictions import check_parameters
from sklearn_tace.report import CalibrationReport
from sklearn_tace.views.formatting import level_of
from sklearn_tace.views.mixin import DISPLAYS

_PROGRAM = "sklearn-tace"
_GATE_FAILED, _BAD_USAGE, _INTERRUPTED, _READER_GONE = 1, 2, 130, 141
_EPILOG = """\
example:
  {example}

files: .npy, .npz (arrays, or a scipy.sparse matrix of scores), .csv, .parquet.
FILE:NAME is the array of that name in an .npz, or a column of a table.
'-' is CSV on standard input.

exit codes:
  0    done, and the gate (if any) passed
  1    done, but --fail-above says no
  2    wrong usage, or a file that cannot be used
  130  interrupted (Ctrl-C)
  141  the reader of the output went away
"""
_WHOLE = "a whole number of 1 or more"
_LISTED = re.compile(r"-(\d|(?!-).*,)")  # labels of which the first begins with -
# What stands for the value, what it does, and what it must be.
_SETTINGS = {
    "threshold": (
        "X",
        "discard probabilities up to X; none keeps all probabilities (ACE)",
        "a number from 0 to below 1, or none",
    ),
    "n_bins": ("N", "bins per class, or auto", f"{_WHOLE} or auto"),
    "ties": (
        "RULE",
        "average or ordinal: what to do with equal probabilities",
        "average or ordinal",
    ),
    "norm": (
        "NORM",
        "l1, l2 or max: how gaps are combined within a class",
        "l1, l2 or max",
    ),
    "average": (
        "HOW",
        "macro or weighted: how classes are averaged",
        "macro or weighted",
    ),
    "confidence_level": (
        "LEVEL",
        "level of the interval and of the verdict",
        "a number above 0 and below 1",
    ),
    "n_draws": (
        "N",
        "random draws of labels for what chance alone would give; more are more exact",
        _WHOLE,
    ),
    "random_state": (
        "SEED",
        "seed of what is drawn at random",
        "a whole number from 0 to 4294967295",
    ),
}
# The others have one value for which two models can be compared.
_COMPARED = tuple(name for name in _SETTINGS if name not in {"norm", "average"})


def main(arguments=None) -> int:
    """Run a command, and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_: _warn(reworded(message))
            code = _run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        _say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _READER_GONE
    except FileError as error:
        _say(error)
    except MemoryError as error:
        _say(f"not enough memory: {error}")
    except OSError as error:  # all others have been caught where the file is known
        _drop_output()
        _say(f"the output cannot be written: {error.strerror or error}")
    return _BAD_USAGE


def _run(arguments):
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not arguments:
        import sklearn_tace.command_line.example  # noqa: F401

        return 0
    try:
        options = _parser().parse_args(_joined(arguments))
    except SystemExit as end:
        return end.code
    return options.run(options)


def _say(message):
    """One line on standard error."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(f"{_PROGRAM}: {printable(message)}", file=sys.stderr)


def _warn(message):
    _say(f"warning: {message}")


def _drop_output():
    """Let go of what is left to print, which would fail again at exit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- arguments ------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, example, **texts):
        super().__init__(
            epilog=_EPILOG.format(example=f"{_PROGRAM} {example}"),
            formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=79),
            allow_abbrev=False,
            **texts,
        )

    def error(self, message):
        message = re.sub(r"^argument (\S+): must", r"\1 must", message)
        _say(f"{message} (see {self.prog} --help)")
        raise SystemExit(_BAD_USAGE)


def _joined(arguments):
    """As ``--classes=-1,1`` what argparse would take for an option: ``-1,1``."""
    joined = []
    for argument in arguments:
        if joined and joined[-1] == "--classes" and _LISTED.match(argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _parser():
    parser = _Parser(
        prog=_PROGRAM,
        description="Calibration of predicted probabilities, class by class: TACE.\n"
        "Without arguments: a demonstration.",
        example="report labels.npy scores.npy",
    )
    parser.add_argument(
        "--version", action="version", version=f"{_PROGRAM} {__version__}"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    report = commands.add_parser(
        "report",
        help="measure one model",
        description="Measure one model: TACE, what chance alone would give, an "
        "interval, and the\nclasses that are worst.",
        example="report labels.npy scores.npy --html report.html",
    )
    report.set_defaults(run=_report)
    _add_shared(
        report,
        _SETTINGS,
        "TACE is above X or undefined. TACE of few rows is high by chance: see what a "
        "calibrated model would have",
        nargs=None,
    )
    report.add_argument(
        "--name",
        metavar="TEXT",
        help="name of the model, for the page and the picture",
    )
    for option, text in (
        ("--html", "write the report as a page"),
        ("--json", "write it as JSON; - prints that and no text"),
        ("--plot", "draw it; .png, .svg, .pdf and others"),
    ):
        report.add_argument(option, metavar="FILE", type=_some, help=text)
    report.add_argument(
        "--kind",
        choices=tuple(DISPLAYS),
        help="what --plot draws (default: reliability)",
    )

    several = commands.add_parser(
        "compare",
        help="compare models on the same rows",
        description="Compare the first model with the others (norm l1, average macro).",
        example="compare labels.npy first.npy second.npy",
    )
    several.set_defaults(run=_compare)
    _add_shared(
        several,
        _COMPARED,
        "another model is worse calibrated than the first by more than X: the interval "
        "of the first minus the other lies below -X",
        nargs="+",
    )
    return parser


def _add_shared(parser, settings, gate, nargs):
    defaults = CalibrationReport().get_params()
    parser.add_argument(
        "labels", metavar="LABELS", type=_spec, help="true labels, one per row"
    )
    parser.add_argument(
        "scores",
        metavar="SCORES",
        type=_spec,
        nargs=nargs,
        help="predicted probabilities, one column per class",
    )
    parser.add_argument(
        "--weights", metavar="FILE", type=_spec, help="weights of the rows"
    )
    parser.add_argument(
        "--classes",
        metavar="LIST",
        type=_some,
        help="labels of the columns in their order: a,b,c or a file",
    )
    parser.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="the first line of .csv files is a row, not names",
    )
    for name in settings:
        metavar, text, _ = _SETTINGS[name]
        parser.add_argument(
            _option(name),
            metavar=metavar,
            type=_setting(name),
            default=defaults[name],
            help=f"{text} (default: %(default)s)",
        )
    parser.add_argument(
        "--fail-above", metavar="X", type=_gate, help=f"exit with 1 where {gate}"
    )
    parser.set_defaults(settings=settings)


def _option(name):
    return "--" + name.replace("_", "-")


def _setting(name):
    """Reads a parameter, and lets the package check it."""

    def read(text):
        value = _number(text)
        if name == "threshold" and text.lower() == "none":
            value = None
        try:
            check_parameters(**{name: value})
        except (TypeError, ValueError) as error:
            what = _SETTINGS[name][2]
            raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}") from error
        return value

    return read


def _number(text):
    """An int or a float; any other text as it is."""
    if not is_number(text):
        return text
    with contextlib.suppress(ValueError):
        return int(text)
    return float(text)


def _gate(text):
    if is_number(text) and 0 <= float(text) <= 1:
        return float(text)
    raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text!r}")


def _some(text):
    if text:
        return text
    raise argparse.ArgumentTypeError("must not be empty. Name a file")


def _spec(text):
    return parse_spec(_some(text))


# --- commands -------------------------------------------------------------------------


def _report(options):
    targets = {
        option: getattr(options, option)
        for option in ("html", "json", "plot")
        if getattr(options, option) is not None
    }
    if options.kind is not None and options.plot is None:
        raise FileError("--kind says what --plot draws. Add --plot FILE.")
    _check_targets(targets, options)
    (report,), is_long = measure_all(options, [options.scores])

    make = {
        "inference": lambda: str(report),
        "html": lambda: report.to_html(name=options.name),
        "json": report.to_json,
        "plot": lambda: _picture(report, options),
    }
    # The text first, for the JSON holds what has been inferred.
    steps = {name: make[name] for name in ("inference", *targets)}
    contents = run_steps(steps, is_long)
    text = contents.pop("inference")
    if options.json == "-":
        text = contents.pop("json")
    write_files({targets[option]: content for option, content in contents.items()})
    print(text)
    if options.fail_above is None or report.tace_ <= options.fail_above:
        return 0
    value = "undefined" if np.isnan(report.tace_) else f"{report.tace_:.6g}"
    _say(
        f"gate failed: TACE is {value}, allowed is {options.fail_above:g}"
        f"{_chance(report, options.fail_above)}"
    )
    return _GATE_FAILED


def _chance(report, limit):
    """What a calibrated model would have, where that explains the value."""
    if report.average != "macro" or np.isnan(report.tace_):
        return ""
    is_usual = report.p_value_ > 1 - report.confidence_level
    if not is_usual and report.expected_tace_ <= limit:
        return ""
    expected = f"{report.expected_tace_:.6g}"
    return f" (a calibrated model would have about {expected} by chance)"


def _check_targets(targets, options):
    specs = [options.labels, options.scores, options.weights]
    if options.classes is not None:
        specs.append(classes_file(options.classes))
    inputs = set()
    for spec in specs:
        if spec is not None and spec.path != "-":
            with readable(spec):
                inputs.add(os.path.realpath(spec.path))
    files = [path for path in targets.values() if path != "-"]
    for option, path in targets.items():
        if path == "-" and option != "json":
            raise FileError(f"--{option} -: only --json can be printed. Name a file.")
    if options.json == "-" and sys.stdout is None:
        raise FileError("--json -: standard output is closed. Name a file.")
    for path in files:
        check_target(path)
        if os.path.realpath(path) in inputs:
            raise FileError(f"{path} is read, and cannot be written too.")
    written = set()
    for path in files:
        target = os.path.realpath(path)
        if target in written:
            raise FileError(f"{path} is named twice. Write to different files.")
        written.add(target)
    if {"html", "plot"} & set(targets):
        _check_pictures(options.plot)


def _check_pictures(path):
    """Refuse now what could not be drawn later."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise FileError(
            '--html and --plot need matplotlib: pip install "sklearn-tace[plot]"'
        ) from error
    known = Figure().canvas.get_supported_filetypes()
    if path is not None and _suffix(path) not in known:
        raise FileError(f"{path}: pictures end in .{', .'.join(sorted(known))}.")


def _picture(report, options):
    from matplotlib.figure import Figure

    path, buffer = options.plot, io.BytesIO()
    look = {"ax": Figure(layout="constrained"), "name": options.name}
    try:
        display = report.plot(options.kind or "reliability", **look)
        display.figure_.savefig(buffer, format=_suffix(path))
    except (RuntimeError, ValueError) as error:
        raise FileError(f"{path} cannot be drawn: {error}") from error
    return buffer.getvalue()


def _suffix(path):
    return Path(path).suffix[1:].lower()


def _compare(options):
    specs = options.scores
    if len(specs) < 2:
        raise FileError("compare takes LABELS and two or more files of SCORES.")
    reports, is_long = measure_all(options, specs)
    for spec, report in zip(specs, reports, strict=True):
        if np.isnan(report.tace_):
            raise FileError(f"{spec}: TACE is undefined, and cannot be compared.")
    names = [printable(spec) for spec in specs]
    steps = {"intervals": lambda: list(_table(names, reports))}
    for k, name in enumerate(names[1:], start=1):
        step = f"{names[0]} and {name} ({k} of {len(names) - 1})"
        steps[step] = partial(compare, reports[0], reports[k])
    table, *comparisons = run_steps(steps, is_long).values()
    print("\n".join(table))

    failures = []
    for other, comparison in zip(names[1:], comparisons, strict=True):
        print("\n" + "\n".join(_difference(names[0], other, comparison)))
        at_least = -comparison.interval[1]  # by which the other one is worse
        if options.fail_above is not None and at_least > options.fail_above:
            failures.append(
                f"gate failed: {other} is worse calibrated than {names[0]} by "
                f"{at_least:.6g} or more, allowed is {options.fail_above:g}"
            )
    for failure in failures:
        _say(failure)
    return _GATE_FAILED if failures else 0


def _table(names, reports):
    """One line per model."""
    width = max(map(len, names))
    level = level_of(reports[0].confidence_level)
    yield f"{'':<{width}}    TACE  debiased  {level} interval"
    for name, report in zip(names, reports, strict=True):
        low, high = report.interval_
        yield (
            f"{name:<{width}}  {report.tace_:.4f}    {report.debiased_tace_:.4f}  "
            f"{low:.4f} to {high:.4f}"
        )


def _difference(first, other, comparison):
    low, high = comparison.interval
    # z: without the sign of what rounds to zero
    yield (
        f"{first} minus {other}: {comparison.difference:z.4f}, "
        f"{level_of(comparison.confidence_level)} interval {low:z.4f} to {high:z.4f}:"
    )
    if high < 0:
        yield f"{first} is better calibrated"
    elif low > 0:
        yield f"{other} is better calibrated"
    else:
        yield "these rows do not tell which is better calibrated"
        yield "(more rows would tell more; the interval is conservative)"
