"""Traces, their tables, and what is made of them."""
import ctypes
import html
import importlib
import json
import os
from dataclasses import dataclass, field

from ._library import Error, Stream, capsule, check, lib

_open_file = open  # which this module has a function of its own for
_SHOWN = 20  # rows of a table as a notebook shows it


def _encoded(text, what):
    """A text as the library takes it, which ends at a NUL."""
    if not isinstance(text, str):
        raise Error(f"{what} must be a str, not {type(text).__name__}")
    if "\0" in text:
        raise Error(f"{what} has a NUL in it")
    return text.encode(errors="surrogatepass")


def _encoded_path(path):
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise Error(f"a path must be str, bytes or os.PathLike, not {type(path).__name__}") from None
    if b"\0" in encoded:
        raise Error("a path has a NUL in it")
    return encoded


def _needed(name):
    """A module that is not the standard library's, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Error(f"this needs {name}: pip install {name}") from None


class _Result:
    """A result of the library: released with the last of its tables."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        lib.nvtally_result_free(self.handle)


class Table:
    """A table of a result, or of the trace model. It has __arrow_c_stream__, so that libraries of data frames take it."""

    def __init__(self, name, title, rows, stream, text):
        self.name, self.title = name, title
        self._rows, self._stream, self._text = rows, stream, text

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self._stream())

    def __len__(self):
        return self._rows

    def text(self, form="table"):
        """The table in a format of nvtally: table, column, grid, markdown, latex, csv, tsv or json."""
        return self._text(form, None)

    def rows(self):
        """Its rows as dicts."""
        return json.loads(self._text("json", None))

    def __iter__(self):
        return iter(self.rows())

    def __str__(self):
        return self.text()

    @property
    def columns(self):
        """Names of its columns."""
        row = self._text("csv", 1).split("\n", 1)[0]
        return [name.strip('"') for name in row.split(",")] if row else []

    def to_arrow(self):
        """As pyarrow.Table."""
        return _needed("pyarrow").table(self)

    def to_pandas(self, copy=True):
        """As pandas.DataFrame, through pyarrow; without a copy, columns have types of Arrow (pandas.ArrowDtype)."""
        pandas = _needed("pandas")
        return self.to_arrow().to_pandas() if copy else self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self):
        """As polars.DataFrame."""
        return _needed("polars").DataFrame(self)

    def __repr__(self):
        return f"<nvtally table {self.name}: {self._rows} rows>"

    def _repr_html_(self):
        rows = json.loads(self._text("json", _SHOWN))
        names = list(rows[0]) if rows else self.columns
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape('' if row.get(name) is None else str(row[name]))}</td>"
                                        for name in names) + "</tr>" for row in rows[:_SHOWN])
        more = f"<p>{self._rows - _SHOWN} more rows</p>" if self._rows > _SHOWN else ""
        return (f"<table><caption>{html.escape(self.title or self.name)}</caption><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table>{more}")


@dataclass
class Finding:
    """What `nvtally diagnose` found. Times in ns, of an iteration where there are any; None: unknown."""
    id: int
    cause: str
    cost_ns: float
    whole_ns: float
    share_percent: float
    cost_bytes: float
    per: str
    confidence: str
    place: str
    what: str
    evidence: str
    file: str
    remedy: str
    moments_ns: list = field(default_factory=list)

    def __str__(self):
        share = "" if self.share_percent is None else f" ({self.share_percent:.0f} %)"
        return f"{self.cause}{share}: {self.what}"


def _finding(row):
    moments = [row.pop(f"moment_{i}_ns") for i in (1, 2, 3)]
    return Finding(**row, moments_ns=[moment for moment in moments if moment is not None])


def _text_of(handle, table, form):
    text = ctypes.c_void_p()
    check(lib.nvtally_result_text(handle, table, _encoded(form, "the format's name"), ctypes.byref(text)))
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        lib.nvtally_trace_free_text(text)


class Timeline:
    """A picture of a trace: lanes of threads, calls and streams. SVG, which notebooks show."""

    def __init__(self, svg):
        self.svg = svg

    def write(self, path):
        """Keep it as a file."""
        with _open_file(path, "w", encoding="utf-8") as out:
            out.write(self.svg)

    def _repr_svg_(self):
        return self.svg


class Trace:
    """Traces and run directories, read together."""

    def __init__(self, *paths, plain_names=False):
        self._handle = ctypes.c_void_p()
        array = (ctypes.c_char_p * len(paths))(*[_encoded_path(path) for path in paths])
        self.paths = [os.fsdecode(path) for path in paths]
        check(lib.nvtally_trace_open(array, len(paths), int(plain_names), ctypes.byref(self._handle)))

    def close(self):
        """Let go of it. Data frames made of it stay valid."""
        lib.nvtally_trace_close(self._handle)
        self._handle = None

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def _open(self):
        if not self._handle:
            raise Error("the trace is closed")
        return self._handle

    @property
    def notes(self):
        """Lines about the input: what could not be read, and the like."""
        return lib.nvtally_trace_notes(self._open()).decode(errors="replace").splitlines()

    @property
    def tables(self):
        """Names of the tables of the model. SQL has more: sql("SELECT * FROM nvtally_tables")."""
        return [lib.nvtally_trace_table(i).decode() for i in range(lib.nvtally_trace_tables())]

    def __getitem__(self, name):
        """A table of the model, without a copy; or one of SQL: kernels, gaps, report_NAME …"""
        if name in self.tables:
            return self._model_table(name)
        if not isinstance(name, str) or not name.isidentifier():
            raise Error(f"no table {name!r}: tables, and SELECT * FROM nvtally_tables, list them")
        return self.sql(f'SELECT * FROM "{name}"', timeout=0)

    def _model_table(self, name):
        number = self.tables.index(name)
        handle = self._open()

        def stream():
            made = Stream()
            check(lib.nvtally_trace_stream(self._open(), name.encode(), ctypes.byref(made)))
            return made

        def text(form, most):
            limit = "" if most is None else f" LIMIT {most}"
            return self.sql(f'SELECT * FROM "{name}"{limit}', timeout=0).text(form)

        return Table(name, lib.nvtally_trace_table_about(number).decode(), lib.nvtally_trace_rows(handle, number), stream,
                     text)

    def _tables_of(self, result):
        tables = []
        for i in range(lib.nvtally_result_tables(result.handle)):
            def stream(i=i):
                made = Stream()
                check(lib.nvtally_result_stream(result.handle, i, ctypes.byref(made)))
                return made

            def text(form, most, i=i):
                del most
                return _text_of(result.handle, i, form)

            tables.append(Table(lib.nvtally_result_name(result.handle, i).decode(),
                                lib.nvtally_result_title(result.handle, i).decode(),
                                lib.nvtally_result_rows(result.handle, i), stream, text))
        return tables

    def timeline(self, which=0):
        """A picture of one of the traces, by the number of its file."""
        text = ctypes.c_void_p()
        check(lib.nvtally_trace_timeline(self._open(), which, ctypes.byref(text)))
        if not text:
            raise Error("timeline: no range, call or device operation in the trace, or no such trace")
        try:
            return Timeline(ctypes.string_at(text).decode(errors="replace"))
        finally:
            lib.nvtally_trace_free_text(text)

    def reports(self, name):
        """All tables of a report of `nvtally stats`; none where the input has nothing of the kind (notes say so)."""
        handle = ctypes.c_void_p()
        check(lib.nvtally_trace_report(self._open(), _encoded(name, "the report's name"), ctypes.byref(handle)))
        return self._tables_of(_Result(handle))

    def report(self, name):
        """The first table of a report of `nvtally stats`."""
        tables = self.reports(name)
        if not tables:
            raise Error(f"report '{name}': " + (self.notes[-1] if self.notes else "nothing of the kind in the input"))
        return tables[0]

    def sql(self, query, timeout=60, max_rows=0):
        """The result of one statement. Seconds, and rows at most (0: no limit)."""
        handle = ctypes.c_void_p()
        if not isinstance(timeout, (int, float)) or not isinstance(max_rows, int) or max_rows < 0:
            raise Error("sql: timeout must be a number of seconds, max_rows a number of rows, 0 for all")
        check(lib.nvtally_trace_sql(self._open(), _encoded(query, "the query"), timeout, max_rows, ctypes.byref(handle)))
        results = self._tables_of(_Result(handle))
        if len(results) != 1:
            raise Error(f"sql: {len(results)} statements: give one at a time")
        return results[0]

    def diagnose(self):
        """Findings, the costliest first."""
        handle = ctypes.c_void_p()
        check(lib.nvtally_trace_diagnose(self._open(), ctypes.byref(handle)))
        return [_finding(row) for row in self._tables_of(_Result(handle))[0].rows()]

    def write(self, folder, form="parquet"):
        """Write the tables of the model as files, "parquet" or "arrow", into a new folder. It needs pyarrow."""
        from ._files import write  # pylint: disable=import-outside-toplevel,cyclic-import
        write(self, os.fspath(folder), form)

    def __repr__(self):
        return f"<nvtally trace {', '.join(self.paths)}>"

    def _repr_html_(self):
        try:
            picture = self.timeline().svg
        except Error:
            picture = ""
        return picture + self.sql("SELECT name, rows, about FROM nvtally_tables WHERE rows > 0")._repr_html_()


def open(*paths, plain_names=False):  # pylint: disable=redefined-builtin
    """Read traces and run directories; plain_names: without the numbers that PyTorch gives to calls and steps."""
    return Trace(*paths, plain_names=plain_names)
