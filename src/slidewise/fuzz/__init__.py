"""Random cases against answers that share no code with ours: `python -m slidewise.fuzz columns --cases 10000`.

Each target of the command is a module; __main__.py says what it has. Here is what those of `columns` are: `cases` draws
a table, its keys, its order and some aggregates over windows. `by_hand` answers in plain Python, row by row, and
`sqlite` asks Python's own SQLite. `comparison` compares, and makes a failing case as small as it can.
"""
