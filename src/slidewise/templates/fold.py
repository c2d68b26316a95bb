"""The driver that recalculates: every frame from scratch. It needs nothing of the aggregation but a fold from the
oldest row to the youngest, takes any frames, and is what every other way is compared with."""

from slidewise.templates.names import combine, defined, lift, lower, zip_columns


def run(values, start, end, out, valid):
    """n - 1 combines for a frame of n rows."""
    values = zip_columns(values)
    results = zip_columns(out)
    for i in range(len(start)):
        if start[i] < end[i]:
            total = lift(*values[start[i]])
            for k in range(start[i] + 1, end[i]):
                total = combine(total, lift(*values[k]))
            valid[i] = defined(total)
            if valid[i]:
                results[i] = lower(total)
