"""The document that all views share; the script fills it."""

from __future__ import annotations

from html import escape

from irclient import __version__

TITLES = {"now": "Now", "try": "Try", "use": "Use", "gaps": "Gaps", "trouble": "Trouble"}

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · irdaemon</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/page.css">
<script type="module" src="/static/page.js"></script>
</head>
<body data-view="{view}">
<a class="skip" href="#view">Skip to the view</a>
<header>
<b class="brand">irdaemon</b>
<nav aria-label="Views">{links}</nav>
<span id="state" class="pill" role="status">connecting</span>
</header>
<p id="notice" role="alert" hidden></p>
<main id="view" tabindex="-1"><h1 class="sr">{title}</h1>\
<noscript><p>This page draws with scripts from this address only: allow them, or run \
<code>irc status --json</code>.</p></noscript></main>
<footer><span>irc {version}</span> \
<button type="button" class="link" id="data">data of this view</button> \
<span class="keys"><kbd>/</kbd> ask <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> open</span>\
</footer>
</body>
</html>
"""


def document(view: str) -> str:
    """Return the HTML of a view, with nothing of the daemon's in it."""
    links = "".join(_link(name, title, name == view) for name, title in TITLES.items())
    return _DOCUMENT.format(
        title=escape(TITLES[view]), view=escape(view), links=links, version=escape(__version__)
    )


def _link(name: str, title: str, here: bool) -> str:
    current = ' aria-current="page"' if here else ""
    return f'<a href="/{escape(name)}"{current}>{escape(title)}</a>'
