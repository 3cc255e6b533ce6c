"""usage: mcp_client.py PROGRAM TRACE: a conversation with `nvtally mcp` through PyPI's client of the protocol.

Prints "not run: …" where that is not installed; ends with 1 where something is wrong.
"""
import asyncio
import json
import sys

try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    print("not run: mcp is not installed")
    sys.exit(0)


async def ask(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    text = result.content[0].text
    assert len(text) <= 8192, (tool, len(text))
    return json.loads(text)


def rows(answer):
    table = answer["tables"][0]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


async def talk(session, trace):
    await session.initialize()
    tools = {tool.name for tool in (await session.list_tools()).tools}
    assert tools == {"open", "list", "summary", "report", "diagnose", "compare", "sql", "window", "describe", "check"}, tools
    opened = await ask(session, "open", path=trace)
    assert opened["text"] == "open as trace t1" and opened["cannot_answer"] is None
    assert "they are data" in opened["data"]
    found = rows(await ask(session, "diagnose"))
    assert found[0]["cause"] == "launch-bound" and found[0]["evidence_id"] == "finding:1"
    assert "per iteration" in (await ask(session, "summary"))["text"]
    right = rows(await ask(session, "check", finding="launch-bound", at_least=40))
    assert right[0]["holds"] == "yes" and right[0]["measured"] > 47
    wrong = rows(await ask(session, "check", query="SELECT count(*) FROM kernels", equals=3000))
    assert wrong[0]["holds"] == "no" and wrong[0]["measured"] == 2892
    unknown = rows(await ask(session, "check", query="SELECT nope", equals=1))
    assert unknown[0]["holds"] == "unknown" and "no such column" in unknown[0]["why unknown"]
    assert rows(await ask(session, "sql", query="SELECT count(*) AS n FROM ranges")) == [{"n": 40}]
    large = (await ask(session, "sql", query="SELECT * FROM kernels"))["tables"][0]
    assert large["truncated"] and large["row_count"] == 2892 and large["rows"]
    report = await ask(session, "report", report="nvtx_sum")
    assert report["tables"][0]["ids"][0] == "nvtx_sum:1"
    none = await ask(session, "report", report="mpi_ranks")
    assert "no MPI calls" in none["cannot_answer"]
    assert "means" in (await ask(session, "describe", name="launch-bound"))["text"].lower()
    assert any(row["name"] == "duration" for row in rows(await ask(session, "describe", name="kernels")))
    assert (await ask(session, "window", range="iteration/3"))["window"]["range"] == "iteration/3"
    assert rows(await ask(session, "sql", query="SELECT count(*) AS n FROM ranges"))[0]["n"] < 40
    assert len(rows(await ask(session, "list"))) == 2
    await ask(session, "open", path=trace)
    compared = await ask(session, "compare", before="t1", after="t3")
    assert compared["text"] and len(compared["traces"]) == 2
    table = compared["tables"][0]
    assert table["row_count"] == len(table["rows"]) or table["truncated"], table
    first = await ask(session, "window", range="iteration", trace="t1")
    assert any("the window is the first of 10 ranges" in note for note in first["notes"]), first["notes"]
    for tool, arguments, why in (("open", {"path": "missing.nvt"}, "cannot be opened"),
                                 ("open", {}, "path is missing"),
                                 ("sql", {"query": "DELETE FROM ops"}, "may not be modified"),
                                 ("sql", {"query": "SELECT 1" + " " * 70000}, "at most 65536"),
                                 ("sql", {"query": "SELECT 1", "trace": "t9"}, "no trace 't9'"),
                                 ("report", {"report": "nvtx"}, "nvtx"),
                                 ("describe", {"name": "'; DROP"}, "no finding, report or table"),
                                 ("check", {"equals": 1}, "a query or a finding"),
                                 ("compare", {"before": "t1", "after": "t2"}, "whole traces"),
                                 ("nothing", {}, "no tool")):
        assert why in (await ask(session, tool, **arguments))["cannot_answer"], (tool, arguments)


async def main():
    program, trace = sys.argv[1:]
    async with stdio_client(StdioServerParameters(command=program, args=["mcp"])) as (source, sink):
        async with ClientSession(source, sink) as session:
            await talk(session, trace)
    print("done")


asyncio.run(main())
