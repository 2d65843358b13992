"""The options of the two commands."""

import argparse
import contextlib
import re
from functools import partial

from sklearn_tace import __version__
from sklearn_tace.command_line.files import BAD_USAGE, PROGRAM, parse_spec, say
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.report import CalibrationReport
from sklearn_tace.views.mixin import DISPLAYS

_EPILOG = """\
example:
  {example}
files: .npy, .npz (arrays, or a scipy.sparse matrix of scores), .csv, .parquet.
FILE:NAME is an array of an .npz or a column of a table; '-' is standard input.
exit codes: 0 done; 1 --fail-above says no; 2 wrong usage, or a bad file.
"""
# Of each parameter: what stands for the value, and what it does.
_SETTINGS = {
    "threshold": ("X", "discard probabilities up to X; none keeps all (ACE)"),
    "n_bins": ("N", "bins per class, or auto"),
    "ties": ("RULE", "average or ordinal: how equal probabilities are binned"),
    "norm": ("NORM", "l1, l2 or max: how gaps are combined within a class"),
    "average": ("HOW", "macro or weighted: how classes are averaged"),
    "confidence_level": ("LEVEL", "level of the interval and of the verdict"),
    "n_draws": ("N", "random draws of labels for what chance alone would give"),
    "random_state": ("SEED", "seed of what is drawn at random"),
}
_NOT_COMPARED = {"norm", "average"}  # they have one value for which models are compared


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, example, **texts):
        super().__init__(
            epilog=_EPILOG.format(example=f"{PROGRAM} {example}"),
            formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=79),
            allow_abbrev=False,
            **texts,
        )

    def error(self, message):
        message = re.sub(r"^argument (\S+): (?=must|==)", r"\1 ", message)
        say(f"{message} (see {self.prog} --help)")
        raise SystemExit(BAD_USAGE)


def make_parser():
    """The parser of ``sklearn-tace`` and its two commands."""
    parser = _Parser(
        prog=PROGRAM,
        description="TACE, a calibration error. Without arguments: a demonstration.",
        example="report labels.npy scores.npy",
    )
    version = f"{PROGRAM} {__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    report = commands.add_parser(
        "report",
        help="measure one model",
        description="Measure one model: TACE, what chance gives, the worst classes.",
        example="report labels.npy scores.npy --html report.html",
    )
    gate = "where TACE is above X or undefined; TACE of few rows is high by chance"
    _add_options(report, None, list(_SETTINGS), gate)
    add = report.add_argument
    add("--name", metavar="TEXT", help="name of the model, for page and picture")
    add("--html", metavar="FILE", help="write the report as a page")
    add("--json", metavar="FILE", help="write it as JSON; - prints that and no text")
    add("--plot", metavar="FILE", help="draw it; .png, .svg, .pdf and others")
    add("--kind", choices=DISPLAYS, help="what --plot draws (default: reliability)")
    several = commands.add_parser(
        "compare",
        help="compare models on the same rows",
        description="Compare the first model with the others (norm l1, average macro).",
        example="compare labels.npy first.npy second.npy",
    )
    gate = "where the interval of the first model minus another lies below -X"
    _add_options(several, "+", sorted(_SETTINGS.keys() - _NOT_COMPARED), gate)
    return parser


def _add_options(parser, nargs, settings, gate):
    add, defaults = parser.add_argument, CalibrationReport().get_params()
    add("labels", metavar="LABELS", type=parse_spec, help="true labels, one per row")
    text = "predicted probabilities, one column per class"
    add("scores", metavar="SCORES", type=parse_spec, nargs=nargs, help=text)
    add("--weights", metavar="FILE", type=parse_spec, help="weights of the rows")
    add("--classes", metavar="LIST", help="labels of the columns: a,b,c or a file")
    add("--no-header", action="store_true", help=".csv files begin with a row")
    add("--separator", metavar="CHAR", help="of .csv files (default: recognised)")
    add("--decimal", metavar="CHAR", help="mark in .csv files (default: recognised)")
    for name in settings:
        metavar, text = _SETTINGS[name]
        add(
            f"--{name.replace('_', '-')}",
            metavar=metavar,
            type=partial(_read_setting, name),
            default=defaults[name],
            help=f"{text} (default: %(default)s)",
        )
    add("--fail-above", metavar="X", type=float, help=f"exit with 1 {gate}")
    parser.set_defaults(settings=settings)


def _read_setting(name, text):
    """A parameter, which the package checks."""
    value = None if (name, text.lower()) == ("threshold", "none") else text
    for convert in (float, int):  # what is whole stays whole
        with contextlib.suppress(ValueError):
            value = convert(text)
    try:
        check_parameters(**{name: value})
    except (TypeError, ValueError) as error:
        why = str(error).removeprefix(f"{name} ").rstrip(".")
        raise argparse.ArgumentTypeError(why) from error
    return value
