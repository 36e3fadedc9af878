"""Jobs over tables, run in this process or on a Ray cluster."""
