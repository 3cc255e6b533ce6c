"""usage: module.py BUILD: the module nvtally over docs/results/h100/traces/train.nvt, and what takes its tables.

Prints "not run: …" for what is not installed; ends with 1 where something is wrong.
"""
import ctypes
import gc
import os
import shutil
import subprocess
import sys
import xml.dom.minidom

from kit import ROOT, nvtally, refused

TRACE = os.path.join(ROOT, "docs/results/h100/traces/train.nvt")


def module_found(name):
    try:
        return __import__(name)
    except ImportError:
        print(f"not run: {name} is not installed")
        return None


def without_others():
    trace = nvtally.open(TRACE)
    assert len(trace.tables) == 31 and "ops" in trace.tables
    assert len(trace["ops"]) == 3243
    total = trace.sql("SELECT sum(duration) AS total_ns, count(*) AS n FROM kernels").rows()
    assert total == [{"total_ns": 37933309, "n": 2892}], total
    report = trace.report("cuda_gpu_kern_sum")
    assert sum(row["Total Time (ns)"] for row in report) == total[0]["total_ns"]
    assert report.columns[0] == "Time (%)" and report.text("csv").startswith("Time (%)")
    assert str(report) == report.text()
    findings = trace.diagnose()
    assert [finding.cause for finding in findings] == ["launch-bound", "GPU idle"]
    assert str(findings[0]).startswith("launch-bound (48 %)") and findings[0].moments_ns
    assert len(trace["kernels"]) == 2892 and len(trace["report_nvtx_sum"]) == 4
    page = trace.report("nvtx_sum")._repr_html_()
    assert page.startswith("<table>") and "Total Time (ns)" in page
    assert "<td>ops</td>" in trace._repr_html_()
    picture = xml.dom.minidom.parseString(trace.timeline().svg)
    assert any("GPU 0 stream 7" in text.firstChild.data for text in picture.getElementsByTagName("text") if text.firstChild)
    assert trace._repr_html_().startswith("<svg") and "no such trace" in refused(lambda: trace.timeline(1))
    hostile = trace.sql("SELECT '<script>' AS name")._repr_html_()
    assert "<script>" not in hostile and "&lt;script&gt;" in hostile
    assert trace.sql("SELECT 1 AS n WHERE 0").columns == ["n"]
    with trace:
        pass
    assert refused(lambda: trace["ops"]) == "the trace is closed"


def what_is_refused():
    trace = nvtally.open(TRACE)
    assert "missing.nvt" in refused(lambda: nvtally.open("missing.nvt"))
    assert "no trace" in refused(nvtally.open)
    assert "is not a trace" in refused(lambda: nvtally.open(os.path.join(ROOT, "README.md")))
    assert "no such column: nope" in refused(lambda: trace.sql("SELECT nope FROM ops"))
    assert "only SELECT" in refused(lambda: trace.sql("ATTACH 'x' AS x"))
    assert "at most 65536" in refused(lambda: trace.sql("SELECT 1" + " " * 1000000))
    assert "stopped after" in refused(lambda: trace.sql("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
                                                        "SELECT count(*) FROM c", timeout=0.1))
    assert "no such table" in refused(lambda: trace["kernel_table"])
    assert "no table ''" in refused(lambda: trace[""]) and "no table 'a b'" in refused(lambda: trace["a b"])
    assert "no table 7" in refused(lambda: trace[7])
    assert refused(lambda: trace.sql("SELECT 1; SELECT 2")) == "sql: 2 statements: give one at a time"
    assert repr(nvtally.open(os.fsencode(TRACE))) == repr(trace)
    assert trace.sql("SELECT 1 AS n;  -- alone\n").rows() == [{"n": 1}]
    assert "the query is empty" in refused(lambda: trace.sql(";"))
    assert "has a NUL" in refused(lambda: trace.sql("SELECT 1\0; DELETE FROM ops"))
    assert "must be a str, not bytes" in refused(lambda: trace.sql(b"SELECT 1"))
    assert "timeout must be" in refused(lambda: trace.sql("SELECT 1", timeout="x"))
    assert "max_rows" in refused(lambda: trace.sql("SELECT 1", max_rows=-1))
    assert "not NoneType" in refused(lambda: nvtally.open(None)) and "NUL" in refused(lambda: nvtally.open("a\0b"))
    assert trace["os_calls"].rows() == [] and "no OS calls in the trace" in trace.notes[-1], trace.notes
    assert "cuda_gpu_kern_sum" in refused(lambda: trace.report("cuda_gpu_kern_su"))
    assert "needs a directory" in refused(lambda: trace.report("fragments"))
    assert "no format 'xml'" in refused(lambda: trace.report("nvtx_sum").text("xml"))
    assert "a list" in refused(lambda: nvtally.record("python3 x.py"))
    assert "command or code" in refused(nvtally.record)
    for name, take in (("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")):
        there = sys.modules.get(name)
        sys.modules[name] = None  # as if it were not installed
        assert refused(getattr(trace["ops"], take)) == f"this needs {name}: pip install {name}"
        del sys.modules[name]
        if there:
            sys.modules[name] = there


def cut_trace(folder):
    """What is there of a file that was cut, with a note."""
    path = os.path.join(folder, "cut.nvt")
    with open(TRACE, "rb") as whole, open(path, "wb") as part:
        part.write(whole.read()[:20000])
    trace = nvtally.open(path)
    assert any("cut" in note or "warning" in note for note in trace.notes), trace.notes


def recording(folder):
    code = "import ctypes, time; time.sleep(0.01)"
    with nvtally.record(code=code, options=["--trace", "osrt"]) as trace:
        path = trace.paths[0]
        assert trace.sql("SELECT value FROM meta WHERE key = 'command'").rows()
    assert not os.path.exists(path)
    kept = nvtally.record([sys.executable, "-c", "raise SystemExit(3)"], output=os.path.join(folder, "kept.nvt"))
    assert kept.status == 3 and os.path.exists(kept.path)


# Made for each reader, of others.
COMPUTED = {"id", "file", "rank", "detail", "duration"}


# And of these tables: what is stored as a number and 1.
MADE = {"kernel_shapes": {"collective"}, "apis": {"frame"}, "memory": {"frame"}}


def arrow():
    pyarrow = module_found("pyarrow")
    if not pyarrow:
        return
    trace = nvtally.open(TRACE)
    for name in trace.tables:
        table = pyarrow.table(trace[name])
        table.validate(full=True)
        assert table.num_rows == len(trace[name])
        # SQL says the same of every column.
        for column in table.column_names:
            values = table[column]
            there = trace.sql(f'SELECT count("{column}") AS n FROM "{name}"').rows()[0]["n"]
            assert len(values) - values.null_count == there, (name, column)
    first, second = pyarrow.table(trace["ops"]), pyarrow.table(trace["ops"])
    borrowed = {column for column in first.column_names
                if first[column].chunk(0).buffers()[1].address == second[column].chunk(0).buffers()[1].address}
    assert set(first.column_names) - borrowed == COMPUTED, borrowed
    assert first.schema.field("start").metadata[b"unit"] == b"ns"
    sums = trace.sql("SELECT sum(start) AS a, sum(range) AS b, sum(api) AS c, count(DISTINCT name) AS d FROM ops").rows()[0]
    compute = __import__("pyarrow.compute", fromlist=["sum"])
    trace.close()
    del trace
    gc.collect()
    assert sums == {"a": compute.sum(first["start"]).as_py(), "b": compute.sum(first["range"]).as_py(),
                    "c": compute.sum(first["api"]).as_py(), "d": len(set(first["name"].to_pylist()))}
    two = nvtally.open(TRACE, os.path.join(ROOT, "docs/results/h100/traces/looped.nvt"))
    table = pyarrow.table(two["ops"])
    assert table["name"].num_chunks == 2 and table["id"].to_pylist() == list(range(len(table)))
    assert compute.sum(table["api"]).as_py() == two.sql("SELECT sum(api) AS n FROM ops").rows()[0]["n"]


def borrowed_columns(pyarrow, table):
    """Addresses of the values of the columns that are not made for each reader: two readers have them in one place."""
    def read():
        batch = pyarrow.table(table)
        return batch, {name: batch[name].chunk(0).buffers()[1].address for name in batch.column_names}
    first, second = read(), read()
    return {name: address for name, address in first[1].items() if second[1][name] == address}, first[0]


def frames_without_copy(trace):
    """polars and pandas hold all columns of fixed width where the library has them: of names, the numbers in their dictionary."""
    pyarrow, polars = module_found("pyarrow"), module_found("polars")
    if not pyarrow or not polars or not module_found("pandas"):
        return
    compared = 0
    for name in trace.tables:
        if not len(trace[name]):
            continue
        there, table = borrowed_columns(pyarrow, trace[name])
        types = {column: table.schema.field(column).type for column in table.column_names}
        assert set(types) - set(there) <= COMPUTED | MADE.get(name, set()), name
        frame = trace[name].to_pandas(copy=False)
        assert {column: frame[column].array._pa_array.chunk(0).buffers()[1].address for column in there} == there, name
        fixed = [column for column in there if not pyarrow.types.is_dictionary(types[column])]
        of_polars = polars.DataFrame(trace[name]).select(fixed)
        of_polars = {column: of_polars[column].to_arrow().buffers()[1].address for column in fixed}
        assert of_polars == {column: there[column] for column in fixed}, name
        compared += len(fixed)
    assert compared > 60, compared


def duckdb_reads_in_place(duckdb):
    """DuckDB does not say where its vectors are. A number that is changed in the library's memory is changed in its next result."""
    pyarrow = module_found("pyarrow")
    trace = nvtally.open(TRACE)
    if not pyarrow:
        return
    connection = duckdb.connect()
    connection.register("operations", trace["ops"])
    address = borrowed_columns(pyarrow, trace["ops"])[0]["start"]
    first = ctypes.c_int64.from_address(address)
    for _ in range(3):
        before = connection.sql("SELECT sum(start) FROM operations").fetchall()[0][0]
        first.value -= 1000
        assert connection.sql("SELECT sum(start) FROM operations").fetchall()[0][0] == before - 1000
    connection.close()


def frames():
    trace = nvtally.open(TRACE)
    frames_without_copy(trace)
    total = trace.sql("SELECT sum(duration) AS n FROM ops").rows()[0]["n"]
    if module_found("pyarrow") and module_found("pandas"):
        for name in trace.tables:
            assert len(trace[name].to_pandas()) == len(trace[name]) == len(trace[name].to_pandas(copy=False))
        assert trace["ops"].to_pandas()["duration"].sum() == total
    polars = module_found("polars")
    if polars:
        for name in trace.tables:
            assert len(trace[name].to_polars()) == len(trace[name])
        assert trace["ops"].to_polars()["duration"].sum() == total
    duckdb = module_found("duckdb")
    if duckdb:
        for name in trace.tables:
            read = trace[name]
            assert len(duckdb.sql("SELECT * FROM read").fetchall()) == len(read), name
        ops, kernel_shapes = trace["ops"], trace["kernel_shapes"]
        assert duckdb.sql("SELECT sum(duration) FROM ops").fetchall()[0][0] == total
        count = duckdb.sql("SELECT count(*) FROM ops o JOIN kernel_shapes k ON k.id = o.detail WHERE o.kind = 0")
        assert count.fetchall()[0][0] == 2892
        del ops, kernel_shapes
        duckdb_reads_in_place(duckdb)


def export(*arguments):
    """Exit status and the lines on stderr of `nvtally export`."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([os.path.join(sys.argv[1], "nvtally"), "export", *arguments], env=environment, check=False,
                          capture_output=True, text=True)
    return done.returncode, done.stderr


def arrow_files(out, job, pyarrow):
    """Arrow's files, which the program writes without another's: each reader finds what the library hands out."""
    polars, duckdb = module_found("polars"), module_found("duckdb")
    trace = nvtally.open(TRACE)
    with_rows = {name for name in trace.tables if len(trace[name])}
    assert {file.removesuffix(".arrow") for file in os.listdir(out)} == with_rows
    for name in with_rows:
        path, table = os.path.join(out, f"{name}.arrow"), pyarrow.table(trace[name]).unify_dictionaries()
        with pyarrow.ipc.open_file(path) as file:
            read = file.read_all()
        read.validate(full=True)
        assert read.schema.equals(table.schema, check_metadata=True) and read.equals(table), name
        if polars:
            assert polars.read_ipc(path).equals(polars.from_arrow(table)), name
        if duckdb:
            rows = __import__("pyarrow.dataset", fromlist=["dataset"]).dataset(path, format="arrow")
            assert duckdb.sql("SELECT count(*) FROM rows").fetchall() == [(len(table),)] and rows, name
    # By rank, as Parquet, where the folder's name has the rank.
    parts = __import__("pyarrow.dataset", fromlist=["dataset"]).dataset(os.path.join(job, "ops"), format="arrow", partitioning="hive")
    read = parts.to_table().to_pandas() if module_found("pandas") else None
    assert parts.count_rows() == 3 * len(trace["ops"])
    if read is not None:
        assert sorted(read["id"]) == list(range(3 * len(trace["ops"]))) and sorted(set(read["rank"])) == [0, 1, 2]


def files(folder):
    """A job of 64 ranks as files: what DuckDB joins and adds up is what the report says of the traces."""
    pyarrow, duckdb = module_found("pyarrow"), module_found("duckdb")
    out, job = os.path.join(folder, "tables"), os.path.join(folder, "arrow")
    ranks = [os.path.join(folder, f"t.rank{rank}.nvt") for rank in range(64)]
    for path in ranks:
        shutil.copy(TRACE, path)
    assert export(TRACE, "--to", "arrow", "-o", out) == (0, "")
    assert export(*ranks[:3], "--to", "arrow", "-o", job)[0] == 0
    assert os.path.exists(os.path.join(job, "ops/rank=2/2.arrow"))
    for arguments, why in (((TRACE, "--to", "arrow", "-o", out), "is there already"),
                           ((TRACE, "--to", "arrow"), "writes a folder"),
                           ((TRACE, "--to", "arrow", "-o", TRACE), "is there already"),
                           ((TRACE, "--to", "arrow", "-o", "/proc/there/is"), "cannot be written"),
                           (("missing.nvt", "--to", "arrow", "-o", out + "2"), "missing.nvt: cannot be opened")):
        status, said = export(*arguments)
        assert status == 2 and why in said and said.count("\n") == 1, said
    assert not os.path.exists(out + "2") and not os.path.exists(out + ".partial")
    if not pyarrow:
        status, said = export(TRACE, "--to", "parquet", "-o", out + "2")
        assert status == 2 and "needs pyarrow" in said and said.count("\n") == 1, said
        return
    arrow_files(out, job, pyarrow)
    for arguments, why in (((TRACE, "--to", "parquet"), "writes a folder"),
                           ((TRACE, "--to", "parquet", "-o", out, "--filter-time", "0s/1s"), "takes whole traces"),
                           (("missing.nvt", "--to", "parquet", "-o", out + "2"), "missing.nvt: cannot be opened")):
        status, said = export(*arguments)
        assert status == 2 and why in said and said.count("\n") == 1, said
    job = os.path.join(folder, "job")
    assert export(*ranks, "--to", "parquet", "-o", job)[0] == 0
    assert os.path.exists(os.path.join(job, "ops/rank=63/63.parquet"))
    if duckdb:
        report = nvtally.open(*ranks).report("cuda_gpu_kern_gb_sum").rows()
        rows = duckdb.sql(f"""SELECT o.rank, sum(duration), count(*) FROM read_parquet('{job}/ops/*/*.parquet',
            hive_partitioning = true) o JOIN read_parquet('{job}/kernel_shapes/*/*.parquet', hive_partitioning = true) k
            ON k.id = o.detail WHERE o.kind = 0 GROUP BY 1""").fetchall()
        assert len(rows) == 64 and len({row[1:] for row in rows}) == 1
        assert sum(row[1] for row in rows) == sum(row["Total Time (ns)"] for row in report)
        assert sum(row[2] for row in rows) == sum(row["Instances"] for row in report)
    kernels = nvtally.open(*ranks).sql("SELECT sum(duration) AS a, count(*) AS n FROM kernels").rows()[0]
    dask_reads(job, kernels)
    spark_reads(job, kernels)


def dask_reads(job, kernels):
    if not module_found("dask"):
        return
    frame = __import__("dask.dataframe", fromlist=["read_parquet"])
    ops, shapes = frame.read_parquet(f"{job}/ops"), frame.read_parquet(f"{job}/kernel_shapes")
    joined = ops[ops.kind == 0].merge(shapes[["id"]], left_on="detail", right_on="id")
    sums = joined.groupby("rank", observed=True).duration.agg(["sum", "count"]).compute()
    assert len(sums) == 64 and {"a": sums["sum"].sum(), "n": sums["count"].sum()} == kernels, sums


def spark_reads(job, kernels):
    """NVTALLY_SPARK_OPTIONS: options of Java that the machine needs."""
    if not module_found("pyspark"):
        return
    builder = __import__("pyspark.sql", fromlist=["SparkSession"]).SparkSession.builder.master("local[2]")
    spark = (builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
             .config("spark.driver.extraJavaOptions", os.environ.get("NVTALLY_SPARK_OPTIONS", "")).getOrCreate())
    for name in "ops", "kernel_shapes":
        spark.read.parquet(f"{job}/{name}").createOrReplaceTempView(name)
    rows = spark.sql("SELECT o.rank, sum(duration) AS a, count(*) AS n FROM ops o JOIN kernel_shapes k ON k.id = o.detail "
                     "WHERE o.kind = 0 GROUP BY o.rank").collect()
    spark.stop()
    assert len(rows) == 64 and {"a": sum(row.a for row in rows), "n": sum(row.n for row in rows)} == kernels, rows


def main():
    without_others()
    what_is_refused()
    cut_trace(sys.argv[2])
    recording(sys.argv[2])
    arrow()
    frames()
    files(sys.argv[2])
    print("done")


main()
