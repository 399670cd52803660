"""Pages for a person with a browser and nothing else: of one deployment, of two side by side, of a whole folder.

Import from the modules: the page of a deployment needs torch, the others do not.
"""

__all__: list[str] = []
