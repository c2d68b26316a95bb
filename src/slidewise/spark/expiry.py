"""Batches with emit="changes", empty=True: one shuffle, one sort, and one pass of whole keys through Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidewise.columns.stream_options import BatchEffects
from slidewise.spark.column_names import require_distinct
from slidewise.spark.executor.expiry_task import ExpiryTask
from slidewise.spark.input import Input, tell_columns
from slidewise.spark.plan import (
    Group,
    build_plain_columns,
    column,
    leave_out_untimed,
    repartition_by_keys,
    require_one_pass,
    sort_by_order,
)
from slidewise.spark.schema import infer_result_types


def compute_rows(
    source: Input, groups: list[Group], engine: str, hot_keys: str | bool, effects: BatchEffects, names: Sequence[str]
) -> Any:
    """Compute the rows of a call of with_columns, and those of times at which rows leave."""
    from pyspark.sql.types import StructField, StructType

    require_one_pass(groups, engine, hot_keys)
    [group], schema = groups, source.schema
    columns = schema.to_arrow(schema.names)
    types = schema.to_spark_types(infer_result_types(columns, group), columns)
    kinds = dict(zip(group.expressions, types, strict=True))
    new = [name for name in names if name not in schema.names]
    require_distinct([*schema.names, *new], schema.heeds_capitals, "with_columns")
    fields = {name: schema.field(name) for name in schema.names if name not in source.hidden}
    fields |= {name: StructField(name, kinds[name]) for name in names}
    output = StructType([StructField(f.name, f.dataType, True, f.metadata) for f in fields.values()])
    return compute(source, columns, output, group, effects)


def compute(
    source: Input, reads: pa.Schema, output: Any, group: Group, effects: BatchEffects, slides: bool = False
) -> Any:
    """Compute the output of whole keys from the columns that are read."""
    from pyspark import cloudpickle

    from slidewise.spark.arrow_types import to_arrow_type
    from slidewise.spark.shipping import build_executor_function, ship

    known, by = source.schema, (group.partition_by, group.order_by)
    made = pa.schema([(f.name, to_arrow_type(f.dataType, known.zone, f.name)) for f in output])
    task = ExpiryTask(reads, made, *by, group.expressions, effects, slides)
    timed = leave_out_untimed(source, effects).df
    rows = repartition_by_keys(timed.select(*(column(name) for name in reads.names)), *by)
    plain = sort_by_order(rows, *by).select(*build_plain_columns(reads.names))
    if source.given:
        plain = tell_columns(plain, {str(k): known.field(name).dataType for k, name in enumerate(reads.names)})
    function = build_executor_function(cloudpickle.dumps(task), ship(known.spark, cloned=source.given))
    return plain.mapInArrow(function, output)
