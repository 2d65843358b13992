"""The documentation: every code block runs, every public name is in the reference."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose

import sklearn_tace

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(sklearn_tace.__file__).parent
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIRECTIVES = {"{eval-rst}", "{toctree}"}
# What tests below run, by page. doctest runs all of pycon.
SCRIPTS = {
    "README.md": {"python", "sh"},
    "index.md": {"python"},
    "command_line.md": {"sh"},
}
# What makes environments is run by .ci/run, as it stands.
INSTALLATION = re.compile(r"^python3 -m venv .*\n", re.MULTILINE)


def blocks_of(page):
    return BLOCK.findall(page.read_text("utf-8"))


def pages_with(language):
    return [page for page in PAGES if language in SCRIPTS.get(page.name, ())]


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_code_block_runs(page):
    run = {"pycon", *SCRIPTS.get(page.name, ())}
    before = None
    for language, text in blocks_of(page):
        if language == "text":  # the output of the block before
            assert before in run - {"pycon"}, text
        elif language not in DIRECTIVES:
            assert language in run, text
        if language == "pycon":
            assert text.startswith(">>> "), text
        before = language
    rest = BLOCK.sub("", page.read_text("utf-8"))
    assert "```" not in rest
    assert "~~~" not in rest


def headings_of(page):
    """Anchors of the headings."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }


def test_links_of_the_readme_lead_somewhere():
    """Sphinx checks those of the site, where the README is not."""
    text = BLOCK.sub("", (ROOT / "README.md").read_text("utf-8"))
    links = re.findall(r"\]\(([^)]+)\)", text)
    links += re.findall(r'src(?:set)?="(.*?)"', text)
    links = [link for link in links if not link.startswith("https://")]
    assert len(links) > 20
    for link in links:
        path, _, anchor = link.partition("#")
        assert (ROOT / path).is_file(), link
        assert not anchor or anchor in headings_of(ROOT / path), link


def code_spans():
    """What stands in backticks on the pages, by page."""
    for page in PAGES:
        text = BLOCK.sub("", page.read_text("utf-8"))
        yield page, re.findall(r"`([^`]+)`", text)


def test_names_of_attributes_and_methods_exist():
    public = {name: getattr(sklearn_tace, name) for name in sklearn_tace.__all__}
    documented = "".join(thing.__doc__ for thing in public.values())
    for page, spans in code_spans():
        for span in spans:
            for name in re.findall(r"^(?:report\.)?([a-z]\w*_)$", span):
                assert name in documented, (page, span)
            for name, method in re.findall(r"\b([A-Z]\w+)\.([a-z]\w+)", span):
                known = name not in public or hasattr(public[name], method)
                assert known or f"{method} :" in documented, (page, span)
            for method in re.findall(r"^report\.([a-z]\w*)\(", span):
                assert hasattr(sklearn_tace.CalibrationReport, method), (page, span)


def test_options_scripts_and_environments_exist():
    commands = ([], ["report"], ["compare"])
    helps = "".join(
        subprocess.run(
            [sys.executable, "-m", "sklearn_tace", *command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for command in commands
    )
    environments = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["tox"]
    for page, spans in code_spans():
        for span in spans:
            if page.name == "command_line.md":
                for option in re.findall(r"--[a-z][\w-]*", span):
                    assert option in helps, (page, span)
            for path in re.findall(r"\b(?:benchmarks|docs|tests)/[\w/]+\.\w+", span):
                assert (ROOT / path).is_file(), (page, span)
            for names in re.findall(r"tox run -e ([\w,]+)", span):
                assert set(names.split(",")) <= environments["env"].keys() | {"newest"}


def test_pictures_are_those_that_the_script_draws():
    spec = importlib.util.spec_from_file_location("draw", DOCS / "draw_pictures.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    names = {*script.PICTURES, "definition"}
    files = {f"{name}_{theme}.svg" for name in names for theme in script.THEMES}
    assert {path.name for path in script.IMAGES.iterdir()} == files
    for name in files:
        assert "<text" in (script.IMAGES / name).read_text("utf-8")


def only(language, page):
    (text,) = (text for found, text in blocks_of(page) if found == language)
    return text


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_examples_print_what_is_shown(page):
    arguments = ["-c", only("python", page)]
    if page.name == "README.md":  # which says that the command runs it
        arguments = ["-m", "sklearn_tace"]
        example = (PACKAGE / "command_line/example.py").read_text()
        assert example.partition("\n\n")[2] == only("python", page)
    run = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    shown, told = run.stdout.splitlines(), only("text", page).splitlines()
    # Most of these probabilities are 1 up to round-off, which orders them: the signs of
    # their bins, and so the fourth digit of the interval, depend on the last bits.
    (line,) = (k for k, text in enumerate(told) if text.startswith("debiased "))
    number = re.compile(r"0\.\d{4}")
    assert number.sub("", shown[line]) == number.sub("", told[line])
    digits = [list(map(float, number.findall(text[line]))) for text in (shown, told)]
    assert_allclose(*digits, rtol=0, atol=1e-3)
    del shown[line], told[line]
    assert shown == told


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_commands_run_and_print_what_is_shown(page, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / ".venv/bin"
    folder.mkdir(parents=True)
    for command, module in (("python", ""), ("sklearn-tace", "-m sklearn_tace")):
        script = folder / command
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        script.chmod(0o700)
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=300)
    np.save(tmp_path / "labels.npy", rng.choice(["cat", "dog", "ant"], size=300))
    for file in ("probabilities.npy", "first.npy", "second.npy"):
        np.save(tmp_path / file, proba)
    blocks = re.findall(
        r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?",
        page.read_text("utf-8"),
        re.DOTALL,
    )
    scripts = [(INSTALLATION.sub("", script), shown) for script, shown in blocks]
    assert any(script for script, _ in scripts)
    for script, shown in scripts:
        done = subprocess.run(
            ["sh", "-e", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
        )
        assert done.returncode == 0, (script, done.stdout)
        if shown:
            assert done.stdout == shown


@pytest.mark.parametrize("name", sklearn_tace.__all__)
def test_public_names_are_documented(name):
    listed = re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert listed.count(name) == 1
    documented = getattr(sklearn_tace, name).__doc__
    assert "Examples\n" in documented
    assert "References\n" in documented


def test_version_is_in_changelog_and_citation():
    version = sklearn_tace.__version__
    assert f"## {version}" in (DOCS / "CHANGELOG.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version
    assert citation["title"] == sklearn_tace.__name__
