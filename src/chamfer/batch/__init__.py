"""Work in parts: a job over tables, in this process or on the workers of a cluster."""
