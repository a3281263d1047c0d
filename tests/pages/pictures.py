"""The pictures that pages draw, as the docs show them."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.image import imread, imsave
from numpy.typing import NDArray
from PIL import Image

from tests.pages.run import DOCS

FIGURES = DOCS / "figures"


def drawn(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Return the pictures that a page left in its folder, by name."""
    return {path.name: imread(path) for path in sorted(folder.glob("*.png"))}


def keep(folder: Path) -> None:
    """Write the pictures of a page into the docs."""
    for name, picture in drawn(folder).items():
        imsave(FIGURES / name, picture)


def differing(folder: Path) -> list[str]:
    """Return which pictures of a page the docs show otherwise.

    Another version of matplotlib may put a letter elsewhere; there only sizes are compared.
    """
    wrong = []
    for name, picture in drawn(folder).items():
        with Image.open(FIGURES / name) as shown:
            same = mpl.__version__ in shown.info["Software"]
        kept = imread(FIGURES / name)
        if kept.shape != picture.shape or (same and not np.array_equal(kept, picture)):
            wrong.append(name)
    return wrong
