#!/usr/bin/env python3
"""Makes the Parquet files of this directory by pyarrow.

    python3 -m venv venv && venv/bin/pip install pyarrow==22.0.0   (or tools/install-arrow.sh)
    venv/bin/python make_parquet.py

expected_parquet.json has what pyarrow reads: of each file its rows, numbers as numbers, bytes as hexadecimal texts.
"""

import datetime
import decimal
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
expected = {}

ROWS = 25
words = ["", "plain", "caf\u00e9 \U0001F600", "line\nbreak", "x" * 300]
day = datetime.date(2024, 2, 29)
moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 250000)


def column(make, kind):
    return pa.array([make(i) for i in range(ROWS)], kind)


table = pa.table({
    "bool": column(lambda i: i % 3 == 0, pa.bool_()),
    **{f"int{n}": column(lambda i, n=n: (-1) ** i * (2 ** (n - 1) - 1 - i), pa.type_for_alias(f"int{n}")) for n in (8, 16, 32, 64)},
    **{f"uint{n}": column(lambda i, n=n: 2**n - 1 - i, pa.type_for_alias(f"uint{n}")) for n in (8, 16, 32, 64)},
    "float16": column(lambda i: i / 4, pa.float16()),
    "float32": column(lambda i: i / 8, pa.float32()),
    "float64": column(lambda i: i / 3, pa.float64()),
    "string": column(lambda i: words[i % len(words)], pa.string()),
    "large_string": column(lambda i: words[-i % len(words)], pa.large_string()),
    "category": column(lambda i: words[i % 3], pa.string()).dictionary_encode(),
    "binary": column(lambda i: bytes(range(i)), pa.binary()),
    "fixed": column(lambda i: bytes([i] * 4), pa.binary(4)),
    "decimal": column(lambda i: decimal.Decimal(i * 1001 - 7) / 100, pa.decimal128(12, 2)),
    "decimal256": column(lambda i: decimal.Decimal(10) ** 40 + i, pa.decimal256(50, 0)),
    "date": column(lambda i: day + datetime.timedelta(days=i), pa.date32()),
    "time32": column(lambda i: i * 1000, pa.time32("ms")),
    "time64": column(lambda i: i * 1000003, pa.time64("us")),
    "moment": column(lambda i: moment + datetime.timedelta(hours=i), pa.timestamp("us", "UTC")),
    "list": column(lambda i: list(range(1 + i % 4)), pa.list_(pa.int32())),
    "large_list": column(lambda i: [i / 2] * (1 + i % 3), pa.large_list(pa.float32())),
    "point": column(lambda i: [i, -i, 0.5], pa.list_(pa.float64(), 3)),
    "chat": column(lambda i: [{"role": "user", "content": words[k % len(words)], "n": k or None} for k in range(i % 3)],
                   pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("n", pa.int8())]))),
    "map": column(lambda i: [(f"k{k}", [k / 2]) for k in range(i % 3)], pa.map_(pa.string(), pa.list_(pa.float64()))),
    "doc": column(lambda i: json.dumps({"i": [i, None]}), pa.json_()),
    "image": column(lambda i: {"bytes": b"\x89PNG" + bytes([i]), "path": f"{i}.png"},
                    pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
})


def plain(value, is_json=False):
    if is_json:
        return json.loads(value)
    if isinstance(value, dict):
        return plain(value["bytes"]) if set(value) == {"bytes", "path"} else {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return value


def note(name, rows):
    """`rows`: numbers in place of dates and times."""
    out = rows.to_pydict()
    for field in rows.schema:
        if pa.types.is_temporal(field.type):
            width = pa.int32() if field.type.bit_width == 32 else pa.int64()
            out[field.name] = rows[field.name].cast(width).to_pylist()
        if pa.types.is_map(field.type):
            out[field.name] = [dict(value) for value in out[field.name]]
    texts = {field.name for field in rows.schema if isinstance(field.type, pa.JsonType)}
    expected[name] = [{k: plain(v[i], k in texts) for k, v in out.items()} for i in range(rows.num_rows)]


def write(name, rows, **options):
    pq.write_table(rows, os.path.join(HERE, name), **options)
    note(name, rows)


write("pyarrow.parquet", table, row_group_size=10, compression="zstd")
few = table.select(["string", "int64", "list", "chat", "doc"])
write("pyarrow-v1.parquet", few, row_group_size=4, compression="snappy", version="1.0", store_schema=False, use_dictionary=False)
write("pyarrow-v2.parquet", few, row_group_size=7, compression="gzip", data_page_version="2.0", column_encoding={
    "int64": "DELTA_BINARY_PACKED", "string": "DELTA_BYTE_ARRAY"}, use_dictionary=False, write_page_checksum=True)
write("pyarrow-nulls.parquet", pa.table({
    "text": pa.array(["a", None, "c"]), "n": pa.array([1, 2, None]), "any": pa.array([[1, None], None, []], pa.list_(pa.int64()))}))

with open(os.path.join(HERE, "expected_parquet.json"), "w") as out:
    json.dump(expected, out, indent=1, ensure_ascii=True)
    out.write("\n")
