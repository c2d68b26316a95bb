"""Seven PySpark window jobs, before and after: two import lines differ."""
