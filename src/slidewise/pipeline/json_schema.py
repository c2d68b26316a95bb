"""The JSON schema of a pipeline's file: what editors complete and check from."""

from __future__ import annotations

import inspect
from typing import Any

from slidewise import aggregations
from slidewise.pipeline.definition import Definition
from slidewise.pipeline.features import PLACES, WINDOWS, list_names
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS, COLUMN_KERNELS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: a text with a variable may become anything
_VARIABLE = {"type": "string", "pattern": r"\$\{"}
#: the first parameters, which have no names in a file: they are columns
_COLUMNS = ("column", "column1", "column2", "y", "x", "ordering")
_PARAMETERS = {
    "fraction": "From 0 to 1, or several of them: 0.95.",
    "n": "Which one, from 1 on; of nth_value also from the end: -1.",
    "ignore_nulls": "Whether nulls are left out.",
    "delimiter": "What stands between two texts.",
    "method": "spark interpolates as Spark does; paper as the paper does.",
    "accuracy": "As of Spark's approx_percentile.",
    "rsd": "The relative standard deviation.",
    "order": "The number of moments.",
    "bits": "The size of the filter.",
    "hashes": "The number of hash functions.",
    "eps": "The error, relative to the number of rows.",
    "confidence": "How probable it is that the error is that small.",
    "seed": "Of the hash functions.",
    "percentiles": "Fractions to estimate, by name of the percentile (p50) or by names of your own.",
    "contains": "Values that are looked for, by their texts or by names of your own.",
    "counts_of": "Values that are counted, by their texts or by names of your own.",
    "classes": "The labels, by their texts or by names of your own.",
    "predict": "The point to classify: a number for each feature, or a column as {column: name}.",
    "smoothing": "The share of the largest variance that is added to all.",
}
#: a column of the row that a result is for
_COLUMN = {
    "type": "object",
    "required": ["column"],
    "additionalProperties": False,
    "properties": {"column": {"type": "string"}},
}
_NUMBERS = {"type": "array", "minItems": 1, "items": {"type": "number"}}
#: a question of a sketch, a list of them, or names with one each
_ASKED = {
    "anyOf": [
        {"type": ["number", "string", "boolean"]},
        {"type": "array", "minItems": 1},
        {"type": "object", "minProperties": 1},
    ]
}
_TYPES: dict[str, dict[str, Any]] = {
    "fraction": {"anyOf": [{"type": "number"}, _NUMBERS, _COLUMN]},
    "percentiles": {
        "anyOf": [{"type": "number"}, _NUMBERS, {"type": "object", "additionalProperties": {"type": "number"}}]
    },
    "contains": _ASKED, "counts_of": _ASKED, "smoothing": {"type": "number"},
    "classes": {"anyOf": [{"type": "array", "minItems": 2}, {"type": "object", "minProperties": 2}]},
    "predict": {"anyOf": [_NUMBERS, {"type": "array", "minItems": 1, "items": _COLUMN}]},
    "n": {"type": "integer", "not": {"const": 0}}, "ignore_nulls": {"type": "boolean"}, "delimiter": {"type": "string"},
    "method": {"enum": ["spark", "paper"]}, "accuracy": {"type": "integer"}, "rsd": {"type": "number"},
    "order": {"type": "integer"}, "bits": {"type": "integer"}, "hashes": {"type": "integer"},
    "eps": {"type": "number"}, "confidence": {"type": "number"}, "seed": {"type": "integer"},
}  # fmt: skip
#: lists or one of them
_ONE_OR_SEVERAL = (("Definition", "keys"), ("TimeColumn", "then"), ("Sink", "keys"))


def build_json_schema() -> dict[str, Any]:
    """Build the schema of a file, from its definition and the registry of aggregations."""
    whole = Definition.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    parts = whole.pop("$defs")
    schema = {"$schema": DIALECT, **whole, "title": "A slidewise pipeline"}
    for model, key in _ONE_OR_SEVERAL:
        properties = (schema if model == "Definition" else parts[model])["properties"]
        properties[key] = _allow(properties[key], {"type": "string"})
    for model in (schema, *parts.values()):
        model["properties"] = {key: _allow_variables(value) for key, value in model["properties"].items()}
    schema["properties"]["time"] = _allow(schema["properties"]["time"], {"type": "string"})
    schema["properties"]["features"]["additionalProperties"] = {"$ref": "#/$defs/Feature"}
    schema["properties"]["features"]["minProperties"] = 1
    for key in ("over", "every"):
        parts["Slide"]["properties"][key] |= {"$ref": "#/$defs/Window"}
    parts["Slide"] |= {
        "if": {"properties": {"over": {"type": "object", "required": ["session"]}}},
        "then": {"properties": {"every": False, "offset": False, "zone": False}},
        "else": {"required": ["every"]},
    }
    schema["allOf"] = [_require_over()]
    return {**schema, "$defs": {**parts, "Feature": _build_feature(), "Window": _build_window()}}


def _allow(schema: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Let a value be of another type, too."""
    kept: dict[str, Any] = {key: schema[key] for key in ("description", "default", "title") if key in schema}
    rest = {key: value for key, value in schema.items() if key not in kept}
    return {**kept, "anyOf": [*rest.pop("anyOf", [rest]), other]}


def _allow_variables(schema: dict[str, Any]) -> dict[str, Any]:
    """Let a number, a truth value or a choice be a variable, too."""
    kinds = [schema, *schema.get("anyOf", ())]
    if any(kind.get("type") in ("integer", "boolean", "number") or "enum" in kind for kind in kinds):
        return _allow(schema, _VARIABLE)
    return schema


def _require_over() -> dict[str, Any]:
    """Require that a window is said once: by the pipeline, or by each feature."""

    def features(rule: dict[str, Any]) -> dict[str, Any]:
        return {"properties": {"features": {"additionalProperties": rule}}}

    over = {"required": ["over"]}
    place: dict[str, Any] = {"anyOf": [{"required": [name]} for name in PLACES]}
    per_row = {"if": place, "then": {"not": over}, "else": over}
    return {
        "if": {"required": ["window"]},
        "then": features({"not": {"anyOf": [over, place]}}),
        "else": features(per_row),
    }


def _build_feature() -> dict[str, Any]:
    summaries = {name: entry.summary for entry in AGGREGATIONS for name in (entry.name, *entry.aliases)}
    names = list_names()
    taken = {name: _parameters(name) for name in names}
    common = {
        "over": {
            "description": "The window, or several: each makes a column of its own.",
            "anyOf": [
                {"$ref": "#/$defs/Window"},
                {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Window"}},
            ],
        },
        "where": {"type": "string", "description": "Spark SQL: only rows for which it is true are aggregated."},
        "algorithm": {
            "description": "How it is computed. By default the best one is chosen.",
            "anyOf": [
                {"enum": ["auto", *(entry.name for entry in (*ALGORITHMS, *COLUMN_KERNELS))]},
                {
                    "type": "string",
                    "pattern": rf"^({'|'.join(e.name for e in ALGORITHMS if e.options and not e.required)})\(.+\)$",
                },
            ],
        },
    }
    parameters = {name: {"description": _PARAMETERS[name], **_TYPES[name]} for name in _PARAMETERS}
    built_in = {
        "properties": {
            **{name: {"description": _sentence(summaries[name]), **_column_schema(name)} for name in names},
            **parameters,
            **common,
        },
        "additionalProperties": False,
        "oneOf": [{"required": [name]} for name in names],
        "allOf": [
            {"if": {"required": [name]}, "then": {"propertyNames": {"enum": [name, *taken[name], *common]}}}
            for name in names
        ],
    }
    own = {
        "properties": {
            "use": {
                "type": "string",
                "pattern": "^[^:]+:[^:]+$",
                "description": 'Your own class, from a Python file beside this one: "features:Vwap".',
            },
            "of": {
                "description": "The columns of your own class.",
                "anyOf": [{"type": "string"}, {"type": "array", "minItems": 1}],
            },
            **common,
        },
        "required": ["use"],
    }
    return {
        "type": "object",
        "description": "An aggregation over a window: {sum: amount, over: 1h}.",
        "if": {"required": ["use"]},
        "then": own,
        "else": {
            "if": {"anyOf": [{"required": [name]} for name in PLACES]},
            "then": _build_place(),
            "else": built_in,
        },
    }


def _build_place() -> dict[str, Any]:
    """Describe what has a frame of its own: {lag: price}, {rank: }."""
    of_column = {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "prefixItems": [{"type": "string"}]}]}
    kinds: dict[str, dict[str, Any]] = {"lag": of_column, "lead": of_column, "ntile": {"type": "integer", "minimum": 1}}
    return {
        "properties": {
            **{name: {"description": text, **kinds.get(name, {"type": "null"})} for name, text in PLACES.items()},
            "offset": {"type": "integer", "description": "So many rows before, or after: 1."},
            "default": {"description": "What stands where there is no such row."},
            "ignore_nulls": {"type": "boolean", "description": "Whether rows of nulls are not counted."},
        },
        "additionalProperties": False,
        "oneOf": [{"required": [name]} for name in PLACES],
        "allOf": [
            {"if": {"required": [name]}, "then": {"propertyNames": {"enum": [name]}}}
            for name in PLACES
            if name not in ("lag", "lead")
        ],
    }


def _parameters(name: str) -> list[str]:
    """List the parameters of an aggregation that have names in a file."""
    known = inspect.signature(getattr(aggregations, name)).parameters
    return [each for each in known if each in _PARAMETERS]


def _column_schema(name: str) -> dict[str, Any]:
    """Describe what stands beside the name of an aggregation: a column, or a list of columns and parameters."""
    several = {"type": "array", "minItems": 1, "prefixItems": [{"type": "string"}]}
    return {"anyOf": [{"type": "string"}, several, *([{"type": "null"}] if name == "count" else [])]}


def _build_window() -> dict[str, Any]:
    bound = {
        "description": "A number, a length of time, unbounded, or a column as {column: name}.",
        "anyOf": [
            {"type": "number"},
            {"type": "string"},
            _COLUMN,
        ],
    }
    kinds = {
        "rows": "So many rows, up to the current one.",
        "time": "So much time, up to the current row.",
        "rows_between": "From so many rows before to so many after: [-9, 0].",
        "range_between": "From so far before to so far after, in the unit of the order: [-1h, 0].",
        "groups_between": "From so many groups of equal times before to so many after: [-1, 0].",
        "delta": "While a column differs from the current row's by less: [odometer, 100].",
        "punctuation": "Since the last row for which a column is true.",
        "session": "The rows that follow one another by at most so much: 30m.",
    }
    several = {"anyOf": [bound, {"type": "array", "items": bound}]}
    return {
        "anyOf": [
            {"type": "string", "description": "1h, 30d, 100 rows", "examples": ["1h", "24h", "7d", "100 rows"]},
            {"type": "integer", "minimum": 1, "description": "So many rows."},
            {
                "type": "object",
                "properties": {
                    **{kind: {"description": kinds[kind], **several} for kind in WINDOWS},
                    "as": {"type": "string", "description": "Of several windows: the end of the column's name."},
                },
                "oneOf": [{"required": [kind]} for kind in WINDOWS],
            },
        ]
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
