"""Where rows come from: one verb, `sum_over_rows`."""
