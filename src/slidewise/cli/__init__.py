"""The command `slidewise`: make, check, test, run and watch pipelines."""
