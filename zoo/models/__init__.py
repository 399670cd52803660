"""The models, as their authors wrote them, and their families. Importing this package registers those of all folders.

A model is never edited for export.
"""

import zoo.subpackages

zoo.subpackages.import_subpackages(__name__, deep=True)
