import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.artist import Artist

from evenodds.report.style import in_house_style, letter_panels, new_figure, save_figure


@in_house_style
def small_figure():
    figure, axes = new_figure(1, 2, height=2)
    axes[0, 0].plot([0, 1], [0, 1], label="a line")
    axes[0, 1].fill_between([0, 1], [1, 2], hatch="//")
    letter_panels(axes, ["One", "Other"])
    return figure


def saved_bytes(figure, folder):
    folder.mkdir()
    return [path.read_bytes() for path in save_figure(figure, folder / "figure")]


def test_a_figure_is_saved_as_png_and_svg(tmp_path):
    written = save_figure(small_figure(), tmp_path / "power")
    assert written == [tmp_path / "power.png", tmp_path / "power.svg"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in written[1].read_bytes()


def test_a_dot_in_the_name_is_no_suffix(tmp_path):
    written = save_figure(small_figure(), tmp_path / "grid_0.05_0.10")
    assert [path.name for path in written] == ["grid_0.05_0.10.png", "grid_0.05_0.10.svg"]


def test_a_png_has_two_hundred_dots_an_inch(tmp_path):
    png, _ = saved_bytes(small_figure(), tmp_path / "a")
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (1300, 400)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    assert saved_bytes(small_figure(), tmp_path / "a") == saved_bytes(
        small_figure(), tmp_path / "b"
    )


def test_the_users_settings_do_not_show(tmp_path):
    before = saved_bytes(small_figure(), tmp_path / "a")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "svg.hashsalt": None}):
        assert saved_bytes(small_figure(), tmp_path / "b") == before


def test_the_users_settings_stay(tmp_path):
    before = dict(mpl.rcParams)
    save_figure(small_figure(), tmp_path / "figure")
    assert dict(mpl.rcParams) == before


def test_no_date_is_written(tmp_path):
    _, svg = saved_bytes(small_figure(), tmp_path / "a")
    assert b"dc:date" not in svg


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys, evenodds.study.paper as p; p.power_figure();"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_lone_panel_has_no_letter():
    _, axes = new_figure()
    letter_panels(axes, ["Alone"])
    assert axes[0, 0].get_title(loc="left") == "Alone"


def test_panels_are_lettered_in_order():
    _, axes = new_figure(1, 2)
    letter_panels(axes, ["One", "Other"])
    assert [panel.get_title(loc="left") for panel in axes.flat] == [
        "$\\bf{a}$  One",
        "$\\bf{b}$  Other",
    ]


def test_a_folder_that_is_not_there_is_refused(refused, tmp_path):
    with refused("figure.png cannot be written: No such file or directory."):
        save_figure(small_figure(), tmp_path / "none" / "figure")


def test_a_figure_that_cannot_be_drawn_leaves_no_file(tmp_path):
    class Broken(Artist):
        def draw(self, renderer):
            raise RuntimeError("broken")

    figure = small_figure()
    figure.add_artist(Broken())
    with pytest.raises(RuntimeError, match="broken"):
        save_figure(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []
