"""Running frames: from the first row of a key to one that moves on. What came before is carried as one partial."""

from slidewise.templates.names import combine, defined, identity, lift, lower, zip_columns


def run(values, begin, first, frames, end, carried, has, out, valid):
    """out[i] is the result of all rows of i's key before row end[i], where valid[i].

    Key k has the frames frames[k] to frames[k + 1] - 1, and its rows begin at begin[k]. With `has`, those of the first
    key begin at row `first`, and `carried` stands for what came before.
    """
    values = zip_columns(values)
    results = zip_columns(out)
    partials = zip_columns(carried)
    for k in range(len(frames) - 1):
        at = begin[k]
        total = identity
        some = False
        if has and k == 0:
            at, total, some = first, partials[0], True
        for i in range(frames[k], frames[k + 1]):
            while at < end[i]:
                total = combine(total, lift(*values[at]))
                some = True
                at += 1
            if some:
                valid[i] = defined(total)
                if valid[i]:
                    results[i] = lower(total)


def fold(values, first, last, carried, has):
    """Add rows first to last - 1 to what is carried; without `has` nothing is yet."""
    values = zip_columns(values)
    partials = zip_columns(carried)
    total = partials[0] if has else identity
    for i in range(first, last):
        total = combine(total, lift(*values[i]))
    partials[0] = total
