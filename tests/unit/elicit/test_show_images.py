"""Pictures come from their folder only, and are what they say."""

import pytest

from evenodds.elicit.show import find_image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def rooms(tmp_path):
    """Return an inner folder with a picture, beside a secret one."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    return inner


def test_a_picture_in_the_folder_is_found(rooms):
    image = find_image("a.png", rooms)
    assert (image.path, image.kind) == (rooms / "a.png", "image/png")


def test_an_absolute_path_into_the_folder_is_found(rooms):
    assert find_image(str(rooms / "a.png"), rooms) is not None


@pytest.mark.parametrize("path", ["../secret.png", "x/../../secret.png", "..//secret.png"])
def test_no_path_leads_outside(rooms, path):
    (rooms / "x").mkdir()
    assert find_image(path, rooms) is None


def test_no_absolute_path_leads_outside(rooms):
    assert find_image(str(rooms.parent / "secret.png"), rooms) is None


def test_no_link_leads_outside(rooms):
    (rooms / "link.png").symlink_to(rooms.parent / "secret.png")
    (rooms / "out").symlink_to(rooms.parent)
    assert find_image("link.png", rooms) is None
    assert find_image("out/secret.png", rooms) is None


def test_a_link_within_the_folder_is_followed(rooms):
    (rooms / "link.png").symlink_to(rooms / "a.png")
    assert find_image("link.png", rooms).path == rooms / "a.png"


def test_a_link_to_another_kind_of_file_is_refused(rooms):
    (rooms / "answers.db").write_bytes(PNG)
    (rooms / "link.png").symlink_to(rooms / "answers.db")
    assert find_image("link.png", rooms) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.png", b"<html><script>alert(1)</script>"),
        ("photo.jpg", PNG),
        ("drawing.svg", b"<svg/>"),
        ("notes.txt", PNG),
        ("sound.webp", b"RIFF....WAVE"),
    ],
)
def test_name_and_content_must_agree_on_a_picture(rooms, name, content):
    (rooms / name).write_bytes(content)
    assert find_image(name, rooms) is None


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.JPG", b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        ("a.gif", b"GIF89a" + bytes(20), "image/gif"),
        ("a.webp", b"RIFF....WEBPVP8 ", "image/webp"),
    ],
)
def test_kinds_of_picture(rooms, name, content, kind):
    (rooms / name).write_bytes(content)
    assert find_image(name, rooms).kind == kind


@pytest.mark.parametrize("value", ["a\0.png", "gone.png", "", None, 3, "x" * 5000 + ".png"])
def test_what_names_no_picture_is_none(rooms, value):
    assert find_image(value, rooms) is None


def test_a_folder_with_a_pictures_name_is_none(rooms):
    (rooms / "folder.png").mkdir()
    assert find_image("folder.png", rooms) is None
