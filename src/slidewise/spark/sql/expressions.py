"""Expressions by sqlglot: what in them is a column, and what is an alias."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from slidewise.spark.aggregate_names import is_aggregate
from slidewise.spark.sql.query_text import QueryText, Span

_SELECT = "SELECT "


@dataclass(frozen=True)
class ColumnUse:
    """A column that an expression names."""

    start: int
    end: int
    #: its name, with what qualifies it before; in the way names are compared
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Parsed:
    """What sqlglot finds in one item."""

    has_alias: bool
    columns: tuple[ColumnUse, ...]


def parse_item(source: QueryText, span: Span, hidden: Sequence[tuple[int, int]] = ()) -> Parsed | None:
    """Parse an item for its columns and its alias; None where sqlglot cannot read it.

    Hidden parts of the text stand for columns of which nothing more is asked: they are blanked by a name of the same
    length, so that places remain what they are.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    start, end = source.find_offsets(span)
    text = source.query[start:end]
    for first, last in hidden:
        text = text[: first - start] + "_" * (last - first) + text[last - start :]
    tree = None
    for dialect in ("spark", "databricks"):  # the latter reads fields of variants, v:a.b
        with suppress(SqlglotError):
            tree = sqlglot.parse_one(_SELECT + text, dialect=dialect)
            break
    if not isinstance(tree, exp.Select) or len(tree.selects) != 1:
        return None
    columns = []
    for column in tree.find_all(exp.Column):
        places = [part.meta for part in column.parts]
        if not column.name.strip("_") or isinstance(column.this, exp.Star):
            continue
        if not all("start" in place for place in places):
            return None
        shift = start - len(_SELECT)
        columns.append(
            ColumnUse(
                min(place["start"] for place in places) + shift,
                max(place["end"] for place in places) + 1 + shift,
                tuple(part.name.casefold() for part in column.parts),
            )
        )
    return Parsed(isinstance(tree.selects[0], exp.Alias), tuple(columns))


# ---- functions, by their names in small letters
def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GENERATORS = _split_words("explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack")
#: Spark's functions, types and words before a bracket that sqlglot has no class for
_KNOWN = _split_words(
    """
    aes_decrypt aes_encrypt aggregate all and array_repeat array_union arrays_overlap as base64 between bigint bin
    binary bit_count bit_get boolean bround btrim cardinality case conv counter_diff crc32 curdate current_path
    date_format date_part dateadd datepart decimal distinct div double e element_at else end escape exists expm1
    filter find_in_set float forall format_number format_string from_avro from_csv from_protobuf from_unixtime
    from_utc_timestamp from_xml get get_json_object group hash hll_sketch_estimate hll_union hmac hypot ilike in
    inline_outer instr int interval is is_valid_utf8 is_valid_variant is_variant_null isnotnull isnull
    jaro_winkler_similarity json_array_length json_object_keys json_tuple kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
    kll_sketch_to_string_double kll_sketch_to_string_float like locate log10 log1p log2 lpad ltrim luhn_check
    make_date make_dt_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8
    make_ym_interval map_concat map_entries map_filter map_from_arrays map_values map_zip_with mask mod named_struct
    not now nullifzero octet_length or order over partition pmod position positive printf quote regexp rlike rpad
    rtrim schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_xml sentences sequence
    session_window shiftleft shiftright shiftrightunsigned size slice smallint sort_array st_asbinary st_geogfromwkb
    st_geomfromwkb st_setsrid st_srid struct then theta_difference theta_intersection theta_sketch_estimate
    theta_union time_bucket time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis
    time_to_seconds timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds tinyint to_avro to_csv
    to_date to_json to_protobuf to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp to_varchar to_variant_object to_xml transform_keys transform_values try_add try_aes_decrypt
    try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
    try_mod try_multiply try_parse_json try_parse_url try_subtract try_to_binary try_to_date try_to_number
    try_to_time try_to_timestamp try_url_decode try_validate_utf8 try_variant_array_append try_variant_get
    try_variant_insert try_variant_set tuple_difference_double tuple_difference_integer
    tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_double
    tuple_intersection_integer tuple_intersection_theta_double tuple_intersection_theta_integer
    tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
    tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer unbase64 unix_nanos unix_timestamp
    url_decode url_encode user validate_utf8 values variant_array_append variant_delete variant_explode
    variant_explode_outer variant_get variant_insert variant_set variant_strip_nulls vector_cosine_similarity
    vector_inner_product vector_l2_distance vector_norm vector_normalize version weekday when window window_time
    within xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
    xxhash64 zeroifnull zip_with
    """
)
#: built-in functions that give another value every time
_VOLATILE = _split_words("rand randn random randstr shuffle uniform uuid")


def is_generator(name: str) -> bool:
    """Tell whether a function makes several rows of one."""
    return name in _GENERATORS


def is_constant(source: QueryText, span: Span) -> bool:
    """Tell whether an expression is sure to be the same for all rows: it names no column, and no other query."""
    read = parse_item(source, span)
    queries = any(source.word(i) == "SELECT" for i in range(*span))
    return read is not None and not read.columns and not queries and is_stable(source, span)


def is_stable(source: QueryText, span: Span) -> bool:
    """Tell whether an expression is sure to give the same value twice for a row: an unknown function may not."""
    from sqlglot import exp

    functions = (
        source.name(i) for i in range(*span) if source.is_name(i) and source.word(i + 1) == "(" and i + 1 < span.end
    )
    return all(
        name not in _VOLATILE and (is_aggregate(name) or name in _KNOWN or name.upper() in exp.FUNCTION_BY_NAME)
        for name in functions
    )
