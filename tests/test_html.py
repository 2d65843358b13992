"""The page: whole in itself, right about the report, safe, and alive in a browser."""

import re
import shutil
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from paths import ON_DEMAND
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from sklearn_tace import CalibrationReport

HOSTILE = [
    "<script>document.title = 'run'</script>",
    "--><img src=x onerror=\"document.title='run'\">",
    "'\"]]></style></svg><svg onload=\"document.title='run'\">",
    "http://example.org/a.png",
    "{{7*7}} ${7*7} &lt;b&gt;",
]


def problem(n_classes, n=300, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.2), n)
    code = (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    overconfident = proba**1.5
    return code, overconfident / overconfident.sum(axis=1, keepdims=True)


def fitted(labels, n=300, n_left_out=0, **settings):
    n_measured = len(labels) - n_left_out
    code, proba = problem(n_measured, n)
    proba = np.hstack([proba, np.zeros((n, n_left_out))])
    settings = {"n_draws": 50, "n_bins": 5} | settings
    labels = np.array(labels)
    return CalibrationReport(**settings).fit(labels[code], proba, labels=labels)


class Page(HTMLParser):
    """Tags with their attributes, and the text of the page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.text.append(data)


def rows_of(html):
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr.*?</tr>", body)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_the_page_says_what_print_says():
    report = fitted(list("abcdef"), n_left_out=2)
    page = Page(report.to_html(name="my model"))
    assert not page.open
    text = re.sub(r"\s+", " ", " ".join(page.text))
    summary = report.summary().partition("\n\n")[0]
    for line in summary.splitlines():
        assert line in text
    notes = report.summary().partition("Read with care:")[2]
    for note in notes.split("\n- ")[1:]:
        assert re.sub(r"\s+", " ", note) in text
    assert "Calibration report: my model" in text
    low, high = report.interval_
    estimate = f"estimated at {report.debiased_tace_:.4f}, and lies between"
    assert f"{estimate} {low:.4f} and {high:.4f} (with 95% confidence)" in text


def test_a_page_needs_a_fit_and_matplotlib(monkeypatch):
    with pytest.raises(NotFittedError):
        CalibrationReport().to_html()
    report = fitted(list("ab"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match='pip install "sklearn-tace\\[plot\\]"'):
        report.to_html()


def test_the_table_has_every_class_worst_first_and_those_left_out():
    report = fitted(list("abcdef"), n_left_out=2)
    rows = rows_of(report.to_html())
    measured = np.argsort(-report.class_tace_)[:4]
    assert [row[0] for row in rows] == [*report.classes_[measured], "e", "f"]
    for row, k in zip(rows, measured, strict=False):
        assert row[1] == f"{report.class_tace_[k]:.4f}"
        assert row[2] == f"&lt; {report.expected_class_tace_quantile_[k]:.4f}"
        bins = report.bins_[report.bins_["class"] == report.classes_[k]]
        weights = bins["weight"]
        excess = np.average(
            bins["mean_proba"] - bins["observed_frequency"], weights=weights
        )
        assert row[3] == f"{excess:+.4f}"
        assert row[4:] == [
            f"{counts[k]:,}"
            for counts in (report.n_kept_, report.support_, report.dropped_positives_)
        ]
    assert [row[1] for row in rows[4:]] == ["left out"] * 2


@pytest.mark.parametrize("settings", [{"average": "weighted"}, {"norm": "max"}])
def test_pages_without_an_interval(settings):
    html = fitted(list("abc"), **settings).to_html()
    assert "confidence" not in html
    assert "debiased" not in html
    assert ("By chance" in html) == ("norm" in settings)


def test_the_page_of_an_undefined_value_says_so():
    with pytest.warns(match="undefined"):
        report = CalibrationReport(threshold=0.5).fit([0, 1, 2], np.full((3, 3), 1 / 3))
    html = report.to_html()
    assert "<h1>Calibration report</h1>" in html
    assert "TACE undefined" in html
    assert "<img" not in html
    assert [row[1] for row in rows_of(html)] == ["left out"] * 3


def test_nothing_comes_from_elsewhere_and_labels_stay_data():
    report = fitted(HOSTILE)
    html = report.to_html(name=HOSTILE[0])
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith("data:image/svg+xml;base64,")
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    text = " ".join(page.text)
    for label in HOSTILE:
        assert label in text


def test_the_page_is_the_same_for_the_same_report(tmp_path):
    first = fitted(list("abc")).to_html(tmp_path / "page.html")
    assert first == fitted(list("abc")).to_html()
    assert (tmp_path / "page.html").read_text("utf-8") == first


def test_a_thousand_classes_stay_small():
    report = fitted([f"class {k}" for k in range(1000)], n=2000)
    html = report.to_html()
    assert len(rows_of(html)) == 1000
    assert len(html) < 5_000_000


def test_of_many_thousand_classes_the_table_has_the_worst():
    code, proba = problem(4)
    proba = np.hstack([proba, np.zeros((len(code), 6000))])
    report = CalibrationReport(n_bins=2, n_draws=5).fit(
        code, proba, labels=np.arange(6004)
    )
    html = report.to_html()
    assert len(rows_of(html)) == 5000
    assert "1,004 more are in the report's to_frame." in html


def test_a_notebook_shows_the_report_in_short_and_draws_nothing():
    report = fitted(HOSTILE)
    html = report._repr_html_()
    assert report._repr_mimebundle_() == {"text/plain": repr(report), "text/html": html}
    assert not set(ON_DEMAND) & set(vars(report))
    page = Page(html)
    assert not page.open
    assert not {tag for tag, _ in page.tags} & {"script", "svg", "img", "style"}
    text = " ".join(page.text)
    assert f"TACE {report.tace_:.4f}" in text
    assert HOSTILE[report.class_tace_.argmax()] in text
    assert "by chance" not in text.lower()
    assert report.p_value_ > 0
    assert "chance" in report._repr_html_()


def test_a_notebook_shows_an_unfitted_report_as_scikit_learn_does():
    report = CalibrationReport(n_bins=7)
    html = report._repr_mimebundle_()["text/html"]
    ids = re.compile(r"sk-[a-z]+-id-\d+|sk-estimator-id-\d+")
    assert ids.sub("", html) == ids.sub("", estimator_html_repr(report))
    assert ids.sub("", report._repr_html_()) == ids.sub("", html)
    with sklearn.config_context(display="text"):
        assert "text/html" not in report._repr_mimebundle_()
        assert "text/html" not in fitted(list("ab"))._repr_mimebundle_()


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system, without a window."""
    api = pytest.importorskip("playwright.sync_api")
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    path = next(filter(None, found), None)
    if path is None:
        pytest.skip("no chromium is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Visit:
    """A page in the browser, and what it asked for and complained of."""

    def __init__(self, browser, path, **context):
        self.messages, self.requests = [], []
        self.page = browser.new_context(offline=True, **context).new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def column(self, number):
        return self.page.evaluate(
            "n => [...document.querySelectorAll('#classes tbody tr')]"
            ".filter(row => !row.hidden).map(row => row.cells[n].textContent)",
            number,
        )

    def sort_by(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()
        header = self.page.locator("th[aria-sort]")
        assert header.count() == 1
        return header.get_attribute("aria-sort")


@pytest.fixture
def saved(tmp_path):
    def save(report):
        path = tmp_path / "report.html"
        report.to_html(path)
        return path

    return save


def test_the_table_sorts_and_filters_in_a_browser(browser, saved):
    labels = [f"class {k}" for k in range(1000)]
    report = fitted(labels, n=3000, n_left_out=50)
    visit = Visit(browser, saved(report))
    error = visit.column(1)
    assert error[-50:] == ["left out"] * 50
    assert error[:-50] == sorted(error[:-50], reverse=True)

    assert visit.sort_by("Error") == "ascending"
    error = visit.column(1)
    assert error[-50:] == ["left out"] * 50
    assert error[:-50] == sorted(error[:-50])

    assert visit.sort_by("Kept") == "descending"
    kept = [int(text.replace(",", "")) for text in visit.column(4)]
    assert kept == sorted(report.n_kept_.tolist(), reverse=True)

    assert visit.sort_by("Class") == "ascending"
    assert visit.column(0) == labels
    assert visit.sort_by("Class") == "descending"
    assert visit.column(0) == labels[::-1]

    visit.page.get_by_label("Class contains").fill("CLASS 99")
    assert visit.column(0) == [f"class {k}" for k in (*range(999, 989, -1), 99)]
    assert visit.page.get_by_role("status").inner_text() == "11 of 1,000 shown"
    visit.page.get_by_label("Class contains").fill("")
    visit.page.get_by_label("Show").select_option("left out")
    assert visit.column(0) == [f"class {k}" for k in range(999, 949, -1)]
    visit.page.get_by_label("Show").select_option("beyond chance")
    is_beyond = report.class_tace_ > report.expected_class_tace_quantile_
    assert set(visit.column(0)) == set(np.array(labels)[is_beyond])
    assert visit.messages == []


@pytest.mark.parametrize(
    "labels", [[-10, -2, -1, 0, 7], [1e22, -3.0, 200.0, 1e16, 1.0], ["b", "B", "a 10"]]
)
def test_labels_sort_as_what_they_are(browser, saved, labels):
    visit = Visit(browser, saved(fitted(labels)))
    assert visit.sort_by("Class") == "ascending"
    expected = sorted(labels) if not isinstance(labels[0], str) else ["a 10", "b", "B"]
    assert visit.column(0) == [str(label) for label in expected]


def test_what_the_filter_hides_is_told_in_print(browser, saved):
    visit = Visit(browser, saved(fitted(list("abc"))))
    visit.page.get_by_label("Class contains").fill("a")
    visit.page.emulate_media(media="print")
    assert visit.page.get_by_role("status").is_visible()


def test_the_keyboard_sorts_too(browser, saved):
    visit = Visit(browser, saved(fitted(list("abc"))))
    visit.page.get_by_role("button", name="Class").focus()
    visit.page.keyboard.press("Enter")
    assert visit.column(0) == ["a", "b", "c"]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_hostile_label_does_nothing_and_nothing_is_asked_for(
    browser, saved, color_scheme, width
):
    path = saved(fitted(HOSTILE))
    visit = Visit(
        browser,
        path,
        color_scheme=color_scheme,
        viewport={"width": width, "height": 800},
    )
    visit.page.wait_for_load_state("networkidle")
    page = visit.page
    assert page.title() == "Calibration report"
    others = [url for url in visit.requests if not url.startswith("data:")]
    assert others == [path.as_uri()]
    assert visit.messages == []
    # Every picture is there, and nothing is wider than the window.
    sizes = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(sizes) == 2 * 7
    assert min(sizes) > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown_themes(page) == [color_scheme] * 7
    assert set(visit.column(0)) == set(HOSTILE)


def shown_themes(page):
    return page.evaluate(
        "[...document.images].filter(image => image.checkVisibility())"
        ".map(image => image.className)"
    )


def test_injected_markup_would_not_run(browser, tmp_path):
    html = fitted(list("ab")).to_html()
    attack = "<script>document.title='run'</script><img src=x onerror=document.title=1>"
    path = tmp_path / "attacked.html"
    path.write_text(html.replace("<main>", f"<main>{attack}"), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.page.title() == "Calibration report"
    assert any("Content Security Policy" in message for message in visit.messages)


def test_the_page_prints_in_light_and_whole(browser, saved):
    labels = [f"class {k}" for k in range(60)]
    visit = Visit(browser, saved(fitted(labels, n=600)), color_scheme="dark")
    visit.page.emulate_media(media="print")
    height, content = visit.page.evaluate(
        "[document.querySelector('.classes').clientHeight,"
        " document.querySelector('#classes').offsetHeight]"
    )
    assert height >= content
    ink, page = visit.page.evaluate(
        "[getComputedStyle(document.body).color,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert (ink, page) == ("rgb(27, 31, 36)", "rgb(255, 255, 255)")
    assert not visit.page.get_by_label("Class contains").is_visible()
    assert set(shown_themes(visit.page)) == {"light"}
    # A head with buttons in it would be printed on the first page only.
    assert (
        visit.page.evaluate(
            "getComputedStyle(document.querySelector('th button')).display"
        )
        == "contents"
    )
