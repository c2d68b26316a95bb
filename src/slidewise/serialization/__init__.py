"""State as bytes: versioned, checked, tied to its definition, and never pickle.

`codec` turns plain values into bytes, `definition` says what a state belongs to, `envelope` wraps both up.
"""
