"""Results as files: one frozen record a cell, one immutable Parquet file a record."""
