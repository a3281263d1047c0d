"""Pictures named in the data, served only from the folders they may come from."""

from dataclasses import dataclass
from pathlib import Path

# Kinds of picture a browser shows and that cannot carry script: how they begin, how they end.
KINDS = {
    "image/png": (b"\x89PNG\r\n\x1a\n", (".png",)),
    "image/jpeg": (b"\xff\xd8\xff", (".jpg", ".jpeg")),
    "image/gif": (b"GIF8", (".gif",)),
    "image/webp": (b"RIFF", (".webp",)),
}
SUFFIXES = tuple(suffix for _, suffixes in KINDS.values() for suffix in suffixes)
LARGEST = 50_000_000


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that may be shown."""

    path: Path
    kind: str


def looks_like_image(value: object) -> bool:
    """Tell a cell that may name a picture."""
    return isinstance(value, str) and value.lower().endswith(SUFFIXES)


def find_image(value: object, folders: tuple[Path, ...]) -> Image | None:
    """Return the picture a cell names, if it is one and lies within one of the folders.

    Links are followed first, so none leads outside; name and content must agree.
    """
    if not isinstance(value, str) or not looks_like_image(value) or "\0" in value:
        return None
    for folder in folders:
        try:
            path = (folder / value).resolve(strict=True)
            inside = path.is_relative_to(folder.resolve(strict=True))
            if not inside or not path.is_file() or path.stat().st_size > LARGEST:
                continue
            with path.open("rb") as file:
                start = file.read(12)
        except OSError:
            continue
        kind = _kind(path.suffix.lower(), start)
        if kind is not None:
            return Image(path, kind)
    return None


def _kind(suffix: str, start: bytes) -> str | None:
    """Return the kind of picture where the name and the first bytes agree on it."""
    for kind, (beginning, suffixes) in KINDS.items():
        if suffix in suffixes and start.startswith(beginning):
            return kind if kind != "image/webp" or start[8:] == b"WEBP" else None
    return None
