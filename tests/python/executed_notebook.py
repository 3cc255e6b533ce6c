"""usage: executed_notebook.py BUILD: a notebook that records a cell, executed by nbconvert, shows tables.

Prints "not run: …" where nbconvert, ipykernel or nvtx are not installed; ends with 1 where something is wrong.
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACE = os.path.join(ROOT, "docs/results/h100/traces/train.nvt")
CELLS = [
    "%load_ext nvtally",
    "import nvtx",
    "%%nvtally mine\nfor _ in range(4):\n    with nvtx.annotate('in the notebook'):\n        pass",
    "mine.report('nvtx_sum')",
    f"import nvtally\nnvtally.open({TRACE!r})",
    "%%nvtally\nraise KeyError('of the cell')",
]


def html_of(cell):
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


def main():
    try:
        import ipykernel  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        import nbformat  # pylint: disable=import-outside-toplevel
        import nvtx  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        from nbconvert import HTMLExporter  # pylint: disable=import-outside-toplevel
        from nbconvert.preprocessors import ExecutePreprocessor  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        print(f"not run: {error.name} is not installed")
        return
    os.environ["NVTALLY_LIBDIR"] = os.path.abspath(sys.argv[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH", "")])
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ExecutePreprocessor(timeout=60, kernel_name="python3", allow_errors=True).preprocess(book, {"metadata": {"path": ROOT}})
    said = [str(output) for cell in book.cells[:5] for output in cell.outputs if output.output_type == "error"]
    assert not said, said
    assert "<td>ranges</td>" in html_of(book.cells[2]) and "<svg" in html_of(book.cells[2])
    assert "in the notebook" in html_of(book.cells[3]) and "<table>" in html_of(book.cells[3])
    assert "<td>ops</td>" in html_of(book.cells[4])
    errors = [output.ename for output in book.cells[5].outputs if output.output_type == "error"]
    assert errors == ["KeyError"], errors
    page = HTMLExporter().from_notebook_node(book)[0]
    assert "in the notebook" in page
    print("done")


main()
