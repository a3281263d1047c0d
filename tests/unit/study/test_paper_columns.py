import numpy as np

from evenodds.study.paper import in_order


def test_numbers_are_sorted_and_words_keep_their_order():
    assert in_order(np.array([2000, 500, 500])) == [500, 2000]
    assert in_order(np.array(["wald", "boundary", "wald"])) == ["wald", "boundary"]
