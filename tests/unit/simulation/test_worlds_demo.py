import pytest

from evenodds.simulation import worlds


@pytest.mark.parametrize("bundled", [worlds.PATIENTS, worlds.TOSS_UPS], ids=lambda path: path.name)
def test_the_generator_writes_the_bundled_file(tmp_path, bundled):
    worlds.write_demo(tmp_path)
    assert (tmp_path / bundled.name).read_text("utf-8") == bundled.read_text("utf-8")
