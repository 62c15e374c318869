"""Work on a Dask cluster; loaded where a scheduler is named."""
