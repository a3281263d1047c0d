import pytest

from evenodds.simulation import demo


@pytest.mark.parametrize("bundled", [demo.PATIENTS, demo.TOSS_UPS], ids=lambda path: path.name)
def test_the_generator_writes_the_bundled_file(tmp_path, bundled):
    demo.write_demo(tmp_path)
    assert (tmp_path / bundled.name).read_text("utf-8") == bundled.read_text("utf-8")
