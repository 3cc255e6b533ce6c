"""read_duckdb.py FILE: the same sums of kernels by DuckDB's reader of JSON. Prints how many names there are."""

import sys

import duckdb

rows = duckdb.sql(
    f"""SELECT event->>'name' AS name, count(*), sum((event->>'dur')::DOUBLE)
    FROM (SELECT unnest(json_extract(json, '$.traceEvents[*]')) AS event
          FROM read_json_objects('{sys.argv[1]}', format = 'unstructured', maximum_object_size = 2000000000))
    WHERE event->>'cat' = 'kernel' GROUP BY name ORDER BY 3 DESC"""
).fetchall()
print(len(rows))
