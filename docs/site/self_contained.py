"""A hook of mkdocs: a site that is complete by itself, whose links and scripts all lie in it."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme would fetch, for a search without a server."""
WORKER = "site/iframe_worker.js"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Replaces each link to a file outside the documentation by its text and the file's path."""
    documentation = Path(config["docs_dir"]).resolve()
    folder = (documentation / PurePosixPath(page.file.src_uri)).parent

    def replace(link: re.Match[str]) -> str:
        text, address = link[1], link[2]
        target = (folder / address).resolve()
        if "://" in address or target.is_relative_to(documentation) or not target.exists():
            return link[0]
        path = target.relative_to(documentation.parent)
        return text if text.strip("`") == str(path) else f"{text} (`{path}`)"

    return LINK.sub(replace, markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Takes our script in the place of the one that the theme would fetch."""
    up = "../" * page.url.count("/")
    return output.replace(SHIM, f"{up}{WORKER}")


def on_post_template(output_content: str, *, template_name: str, **_: Any) -> str:
    """The same for pages that are not made of Markdown."""
    return output_content.replace(SHIM, f"/{WORKER}") if template_name == "404.html" else output_content
