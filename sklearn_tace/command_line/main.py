"""Entry point: ``sklearn-tace`` and ``python -m sklearn_tace``."""

import contextlib
import os
import sys
import warnings

from sklearn_tace.command_line.commands import compare_models, report_on
from sklearn_tace.command_line.files import BAD_USAGE, FileError, say
from sklearn_tace.command_line.options import make_parser

_COMMANDS = {"report": report_on, "compare": compare_models}
_INTERRUPTED, _READER_GONE = 130, 141


def main(arguments=None) -> int:
    """Run a command, and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda text, *_: say(f"warning: {text}")
            exit_code = _run(arguments)
            print(end="", flush=True)
            return exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _READER_GONE
    except FileError as error:
        say(error)
    except MemoryError as error:
        say(f"not enough memory: {error}")
    except OSError as error:  # all others have been caught where the file is known
        _drop_output()
        say(f"the output cannot be written: {error.strerror or error}")
    return BAD_USAGE


def _run(arguments):
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not arguments:
        import sklearn_tace.command_line.example  # noqa: F401

        return 0
    try:
        options = make_parser().parse_args(arguments)
    except SystemExit as end:
        return end.code
    return _COMMANDS[options.command](options)


def _drop_output():
    """Let go of what is left to print, which would fail again at exit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
