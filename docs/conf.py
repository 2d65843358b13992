"""The site: ``tox run -e docs`` builds it into ``build/site``."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError

import sklearn_tace

project = "sklearn_tace"
author = "The sklearn_tace developers"
copyright = author
release = sklearn_tace.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples", "auto_examples/*.py"]
templates_path = ["_templates"]
nitpicky = True
# Other projects are named, not linked: the build asks no network.
nitpick_ignore_regex = [("py:.*", r"(numpy|sklearn)\..*")]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

default_role = "code"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": "sklearn_tace",
    "reference_url": {"sklearn_tace": None},
    "min_reported_time": 1e9,
    "image_srcset": ["2x"],
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"sklearn_tace {release}"
html_static_path = ["_static"]
html_theme_options = {
    "dark_css_variables": {
        # As dark as the pictures of the pages. Those of the examples are drawn on
        # white, and turned around.
        "color-background-primary": "#0d1117",
        "example-picture-filter": "invert(0.95) hue-rotate(180deg)",
    }
}
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

# Pages are read as plain Markdown, too, where a picture follows the reader's setting.
# On the site it follows the switch of the theme.
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*'
    r'<img alt="([^"]+)" src="([^"]+)">\s*</picture>'
)
IMAGES = """\
```{{image}} {}
:alt: {alt}
:class: only-light
```

```{{image}} {}
:alt: {alt}
:class: only-dark
```"""


# doctest wants the empty line with which the code blocks end.
LAST_LINE = re.compile(r"(^```pycon\n(?:.+\n|\n(?!```))*)\n(?=```$)", re.MULTILINE)


def on_source(app, page, source):
    text = PICTURE.sub(lambda m: IMAGES.format(m[3], m[1], alt=m[2]), source[0])
    if "<img" in text:
        raise ExtensionError(f"{page}: a picture has another form than PICTURE")
    source[0] = LAST_LINE.sub(r"\1", text)


# Formulas become MathML, which browsers draw without a script from elsewhere.
def mathml(display):
    def visit(writer, node):
        formula = convert(node.astext(), display=display)
        if "\\" in formula:
            raise ExtensionError(f"latex2mathml does not know all of {node.astext()}")
        writer.body.append(formula)
        raise SkipNode

    return visit, None


def setup(app):
    app.connect("source-read", on_source)
    app.add_html_math_renderer("mathml", mathml("inline"), mathml("block"))
