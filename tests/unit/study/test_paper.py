"""The paper's study as files."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import evenodds as eo
from evenodds.study.paper import NOISES, paper_pvalues, rejection_rates, run_paper_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "deep" / "paper"
    return folder, *run_paper_study(folder, NOISES[2:], runs=20)


def test_every_figure_is_there_twice(study):
    folder, written, *_ = study
    figures = ("wald_grid_0.30_0.10", "power", "power_with_floor", "noise_and_densities")
    names = {path.name for path in written}
    assert names >= {f"{figure}.{kind}" for figure in figures for kind in ("png", "svg")}
    assert all(path.stat().st_size > 0 for path in folder.iterdir())


def test_nothing_else_is_left_in_the_folder(study):
    folder, written, *_ = study
    assert sorted(folder.iterdir()) == sorted(written)


def test_the_parquet_file_has_every_pvalue(study):
    folder, *_ = study
    table = pq.read_table(folder / "wald_pvalues.parquet")
    expected, _ = paper_pvalues(NOISES[2:], runs=20)
    assert table.column("pvalue").to_pylist() == expected["pvalue"].tolist()


def test_the_rates_are_shares_of_the_pvalues(study):
    _, _, rates, _ = study
    table, _ = paper_pvalues(NOISES[2:], runs=20)
    place = 17
    names = ("n_rows", "tolerance", "n_anchors", "labels")
    mask = np.all([table[name] == rates[name][place] for name in names], axis=0)
    assert rates["pvalue_below_0.10"][place] == (table["pvalue"][mask] < 0.1).mean()
    assert rates["runs"][place] == mask.sum() == 20


def test_rates_of_a_noise_aware_test_have_one_version():
    table, _ = paper_pvalues(NOISES[:1], sizes=(500,), runs=1, method=eo.Boundary())
    assert "pvalue_kept_below_0.05" not in rejection_rates(table)


def test_another_world_is_named_in_its_files(tmp_path):
    from evenodds.simulation.worlds import WORLDS

    written, *_ = run_paper_study(
        tmp_path, [eo.UniformNoise(0.1)], world=WORLDS["many features"], runs=2
    )
    assert {path.name.split("_wald")[0] for path in written} == {"many_features"}


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(eo.InputError, match=r"the folder .*taken cannot be made: File exists\."):
        run_paper_study(tmp_path / "taken", runs=1)
