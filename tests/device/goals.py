#!/usr/bin/env python3
"""usage: goals.py [--all] FOLDER

Which goals the results of tests/device/run reach. FOLDER is its $WORK, or what pack made of it. A goal is
reached, missed or not run; behind that stands what it was decided by. Ratios come from rounds in which both
sides were run one after the other: the median over the rounds, and in brackets the least and the largest.
--all: of each goal every case, in Markdown: what both sides took, their ratio and its spread.
Needs nothing but Python.
"""

import csv
import json
import math
import pathlib
import re
import statistics
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED_LOG = SOURCES / "data" / "published" / "gpipe.log"
REFERENCE = SOURCES / "tests" / "reference" / "transformer.h"
SHOWN = 4  # cases that miss a goal
MIB_256 = 256 << 20


def row_of(line):
    """The row of a line; none where it was cut, as on a full disk."""
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def rows_of(path):
    if not path.exists():
        return []
    rows = (row_of(line) for line in path.read_text(errors="replace").splitlines())
    return [row for row in rows if row.get("status") == "ok"]


def mean(row, name):
    return row.get(f"{name}_ns_mean")


class Ratio:
    """Ratios of rounds, by case: what they come to, and the cases in their order. `sides`: what is above and below, of times
    in ns, which are told in us, or in a unit of their own. `notes`: more about some of the cases, and what it is."""

    def __init__(self, *sides, scale=1e-3, note=""):
        self.sides, self.scale, self.note = sides, scale, note
        self.cases, self.values, self.notes = {}, {}, {}

    def add(self, case, above, below):
        if above is not None and below:
            self.cases.setdefault(case, []).append(above / below)
            self.values.setdefault(case, []).append((above, below))

    def table(self):
        """Markdown, a line a case in the order in which they came."""
        noted = (self.note,) if self.notes else ()
        heads = (*self.sides, "ratio", "least", "largest", "rounds", *noted)
        yield "| case | " + " | ".join(heads) + " |"
        yield "|---|" + "---:|" * len(heads)
        for case, ratios in self.cases.items():
            above, below = (statistics.median(side) * self.scale for side in zip(*self.values[case]))
            cells = (f"{above:.1f}" if math.isfinite(above) else "-", f"{below:.1f}", f"{statistics.median(ratios):.3f}",
                     f"{min(ratios):.3f}", f"{max(ratios):.3f}", str(len(ratios)), *(self.notes.get(case, "-") for _ in noted))
            yield f"| {case} | " + " | ".join(cells) + " |"

    def text(self, case):
        values = self.cases[case]
        note = f" {self.notes[case]} {self.note}" if case in self.notes else ""
        return f"{case} {statistics.median(values):.3f} [{min(values):.3f} {max(values):.3f}]{note}"

    def median(self, case):
        return statistics.median(self.cases[case])

    def judge(self, bound, above=False, shown=1):
        """(verdict, detail, self): each case's median at most the bound, or at least. So many of the worst are told, and
        more of them where one is wrong."""
        if not self.cases:
            return "not run", "", self
        wrong = [case for case in self.cases
                 if (self.median(case) < bound if above else self.median(case) > bound)]
        order = sorted(self.cases, key=self.median, reverse=not above)
        counts = {len(values) for values in self.cases.values()}
        rounds = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
        detail = f"{len(self.cases) - len(wrong)} of {len(self.cases)} cases, rounds: {rounds}; worst: "
        detail += ", ".join(self.text(case) for case in order[:SHOWN if wrong else shown])
        return "missed" if wrong else "reached", detail, self

    def told(self):
        """The same of what no goal is decided by."""
        return "", ", ".join(self.text(case) for case in self.cases), self


def rounds(work, name):
    """(ours, theirs) of each round that ended."""
    for folder in sorted(work.glob(f"{name}-[0-9]*")):
        if (folder / "done").exists():
            yield rows_of(folder / "ours" / "results.jsonl"), rows_of(folder / "torch.jsonl")


def case_of(row, keys):
    return " ".join(str(row[key]) for key in keys)


def pairs(work, name, keys, chosen=lambda row: True):
    """(case, our row or None, theirs) of the cases of each round that theirs have."""
    for ours, theirs in rounds(work, name):
        mine = {case_of(row, keys): row for row in ours if chosen(row)}
        by_case = {}
        for row in filter(chosen, theirs):
            by_case.setdefault(case_of(row, keys), []).append(row)
        for case, rows in by_case.items():
            yield case, mine.get(case), rows


def beside(work, name, keys, phase, chosen):
    """Our time of a phase to theirs, the least where there are several; what only they can do is endlessly slower."""
    ratio = Ratio("ours, us", "PyTorch, us")
    for case, ours, theirs in pairs(work, name, keys, chosen):
        times = [mean(row, phase) for row in theirs if mean(row, phase)]
        ratio.add(case, mean(ours, phase) if ours else math.inf, min(times, default=None))
    return ratio


# --- the goals: each yields (what, verdict, detail) or (what, verdict, detail, ratio) ---


def parts(work):
    for part, what in (("check", "every operation as in double precision"),
                       ("accumulate", "sums those of the host to the bit"),
                       ("sanitize", "nothing that compute-sanitizer complains of")):
        path = work / "state" / part
        state, _, detail = path.read_text().strip().partition("\t") if path.exists() else ("not run", "", "")
        yield what, {"ok": "reached", "failed": "missed"}.get(state, "not run"), detail


def records(work):
    """A trace of a device without records of it has cost nothing and shows nothing."""
    counts = [row["device_records"] for path in sorted(work.glob("**/results.jsonl")) for row in rows_of(path)
              if "device_records" in row]
    found = sum(count > 0 for count in counts)
    verdict = "not run" if not counts else "reached" if found == len(counts) else "missed"
    yield "device records in every trace at kernel and full", verdict, f"{found} of {len(counts)} traces" if counts else ""


STUDIES = ("fragments", "gpipe", "transformer", "switchback", "warmup", "overhead")


def peaks(work):
    """Of what a folder of rows does not know, it has no shares."""
    known = ["peak_bytes" in json.loads(path.read_text()) for study in STUDIES
             for path in sorted(work.glob(f"{study}-*/**/env.json"))]
    verdict = "not run" if not known else "reached" if all(known) else "missed"
    yield "what the device reaches known to every study", verdict, f"{sum(known)} of {len(known)} folders" if known else ""


# How far a loss may be off, relatively, after ten steps. Of fp32, which adds in another order than the reference in double
# precision, 1e-4. Of the others one rounding of an operand: the loss changes by no more than twice what the worst logit
# does, logits are sums of many products whose roundings have either sign, and AdamW moves a weight by its rate however
# much its gradient is off. A step of training too few is 1.3e-2.
LOSS_BOUNDS = {"fp32": 1e-4, "tf32": 2**-11, "bf16": 2**-8, "fp16": 2**-11}


def losses(work):
    rows = rows_of(work / "losses" / "results.jsonl")
    graphs = {False} if any(row["backend"] == "host" for row in rows) else {False, True}  # the host has none
    found = {(row["precision"], row["graph"]): row["loss"] for row in rows}
    last = [float(number) for number in re.findall(r"\d+\.\d+", REFERENCE.read_text().split("{")[1])][-1]
    off = {case: math.inf if loss is None else abs(loss / last - 1) for case, loss in found.items()}
    for precisions in (("fp32",), ("tf32", "fp16"), ("bf16",)):
        mine = {case: by for case, by in off.items() if case[0] in precisions}
        bound = LOSS_BOUNDS[precisions[0]]
        verdict = ("missed" if any(by > bound for by in mine.values()) else
                   "reached" if len(mine) == len(precisions) * len(graphs) else "not run")
        detail = ", ".join(f"{precision}{' in a graph' if graph else ''} {by:.1e}"
                           for (precision, graph), by in mine.items())
        yield f"loss after ten steps, {', '.join(precisions)}, the reference's to {bound:.1e}", verdict, detail
    pairs = {precision: loss for (precision, graph), loss in found.items() if graph and (precision, False) in found}
    wrong = [precision for precision, loss in pairs.items() if loss != found[precision, False]]
    verdict = "missed" if wrong else "reached" if set(pairs) == set(LOSS_BOUNDS) else "not run"
    yield "loss in a graph that without, to the bit", verdict, ", ".join(
        f"{precision} {loss!r}, not {found[precision, False]!r}" if precision in wrong else precision
        for precision, loss in pairs.items())


# The overhead: what the published figures are of, and layers of one launch or of many short ones, with a wait for the
# device behind each forward pass or each fragment.
MEASURED = ("language model", "linear layer", "fragments")


def overhead_case(row):
    """(which of MEASURED, the case) of a row."""
    if row["workload"] == "transformer":
        return MEASURED[0], f"{row['size'] or 'another size'}" + ("" if row["precision"] == "fp32" else " " + row["precision"])
    if row["mode"] == "linear":
        return MEASURED[1], str(row["size"])
    return MEASURED[2], " ".join(str(row[key]) for key in ("size", "fragments", "variant") if row[key] is not None)


def typical(row, name):
    """As `stats -r overhead` has it: the median of the iterations, or their mean where that is all there is."""
    median = row.get(f"{name}_ns_median")
    return mean(row, name) if median is None else median


def launches(path, row):
    """Operations of the device in a forward pass, by what is told of the row's trace; none where nothing is."""
    told = path.parent / (str(row.get("trace")).removesuffix(".nvt") + "-ranges.txt")
    for line in csv.DictReader(told.read_text().splitlines() if told.exists() else ()):
        if line.get("Range") == "nvtally:forward":
            return float(line["Avg GPU Ops"])
    return None


def overhead(work):
    ratios = {(what, level): Ratio(f"{level}, us", "bare, us", note="us a launch") for what in MEASURED
              for level in ("nvtx", "kernel", "full", "nsys")}
    added, counts = {}, {}
    for path in sorted(work.glob("overhead-[0-9]*/*/results.jsonl")):
        rows = [(*overhead_case(row), row) for row in rows_of(path)]
        bare = {(what, case): typical(row, "forward") for what, case, row in rows if row["collect"] == "off"}
        for what, case, row in rows:
            key, time = (what, row["collect"]), typical(row, "forward")
            if key in ratios and bare.get((what, case)) and time and row.get("device_records") != 0:
                ratios[key].add(case, time, bare[what, case])
                added.setdefault((*key, case), []).append(time - bare[what, case])
                counts[what, case] = counts.get((what, case)) or launches(path, row)
    for (what, level, case), times in added.items():
        if counts[what, case]:
            ratios[what, level].notes[case] = f"{statistics.median(times) / counts[what, case] * 1e-3:+.2f}"
    for what in MEASURED:
        for level, bound in (("kernel", 1.03), ("full", 1.10)):
            yield (f"{what}: forward at {level} at most {bound:.2f} of bare",
                   *ratios[what, level].judge(bound, shown=1 if what == MEASURED[0] else SHOWN))
        for level, published in (("nvtx", ""), ("nsys", ", published 1.28 to 2.87" if what == MEASURED[0] else "")):
            if ratios[what, level].cases:
                yield f"({what}: forward at {level}{published})", *ratios[what, level].told()


def linear(work):
    for phase in ("forward", "backward"):
        ratio = beside(work, "beside_linear", ("size", "batch"), phase, lambda row: row["mode"] == "linear")
        yield f"linear {phase} no slower than PyTorch", *ratio.judge(1.0)


def fragments(work):
    flat = Ratio("128 fragments, us", "2 fragments, us")
    faster = Ratio("PyTorch's looped, us", "our grouped, us")
    for ours, theirs in rounds(work, "beside_linear"):
        grouped = {(row["size"], row["batch"], row["fragments"]): row for row in ours
                   if row["variant"] == "grouped"}
        looped = {(row["size"], row["batch"]): row for row in theirs
                  if row["variant"] == "looped" and row["fragments"] == 128}
        for (size, batch, count), row in grouped.items():
            if count != 128:
                continue
            few = grouped.get((size, batch, 2), {})
            flat.add(f"{size} {batch}", mean(row, "forward"), mean(few, "forward"))
            faster.add(f"{size} {batch}", mean(looped.get((size, batch), {}), "forward"), mean(row, "forward"))
    yield "grouped forward, 128 fragments at most 1.3 of 2", *flat.judge(1.3)
    yield "grouped forward, 128 fragments, 20 times PyTorch's looped", *faster.judge(20, above=True)


def transformer(work):
    def chosen(attention):
        return lambda row: row["phase"] == "forward_backward" and row.get("attention", attention) == attention

    cases = ("size", "precision")
    for phase in ("forward", "backward"):
        yield (f"transformer {phase} no slower than PyTorch",
               *beside(work, "beside_transformer", cases, phase, chosen("eager")).judge(1.0))
    for phase in ("forward", "backward"):
        fused = beside(work, "beside_transformer", cases, phase, chosen("fused"))
        if fused.cases:
            yield f"(transformer {phase}, ours to PyTorch's fused attention)", *fused.told()


STANDARD = ("standard_fwd", "standard_gw", "standard_gx")
GLOBAL = ("x_quantize_rowwise", "g_quantize_rowwise", "w_quantize_global", "w_quantize_global_transpose",
          "standard_gw", "global_fwd", "global_bwd")


def total(row, names):
    times = [mean(row, name) for name in names]
    return None if None in times else sum(times)


def layer(row):
    return f"{row['dim']}·{row['width_multiplier']:g} {'back' if row['switch'] else 'out'}"


def study_rows(work):
    for folder in sorted(work.glob("switchback-[0-9]*")):
        environment = folder / "env.json"
        if environment.exists():
            bandwidth = json.loads(environment.read_text()).get("peak_bytes")
            for row in rows_of(folder / "results.jsonl"):
                yield row, bandwidth


def switchback(work):
    sooner = Ratio("time_global, us", "fp16, us")
    beside = {path: Ratio("ours, us", f"the {path} path, us") for path in ("torch", "triton")}
    found = [row for ours, _ in rounds(work, "beside_switchback") for row in ours]
    for row in found + [row for row, _ in study_rows(work)]:
        if row["dim"] >= 1280 and row["batch"] == 32768:
            sooner.add(layer(row), total(row, GLOBAL), total(row, STANDARD))
    yield "time_global below fp16's from dim 1280 on, batch 32768", *sooner.judge(1.0)
    for ours, theirs in rounds(work, "beside_switchback"):
        for row in theirs:
            for mine in ours:
                if layer(mine) == layer(row) and mine["batch"] == row["batch"]:
                    beside[row["backend"]].add(layer(row), total(mine, GLOBAL), total(row, GLOBAL))
    for path, ratio in beside.items():
        verdict, detail, _ = ratio.judge(1.0)
        yield f"(time_global, ours to the {path} path)", "" if ratio.cases else verdict, detail, ratio


def tensor_bytes(row, operation):
    narrow, wide = row["dim"], int(row["dim"] * row["width_multiplier"])
    features, out = (wide, narrow) if row["switch"] else (narrow, wide)
    return 2 * {"x": row["batch"] * features, "g": row["batch"] * out, "w": features * out}[operation[0]]


def quantisation(work):
    """To the faster of our copy and PyTorch's."""
    ratio = Ratio("GB/s", "the copy's GB/s", scale=1e-9)
    copies = [row.get("copy_bytes_per_s", 0) for _, theirs in rounds(work, "beside_switchback") for row in theirs]
    for row, copy in study_rows(work):
        bandwidth = max(copies + [copy or 0])
        for key in row:
            name = key.removesuffix("_ns_mean")
            if name != key and "quantize" in name and tensor_bytes(row, name) >= MIB_256 and row[key]:
                ratio.add(f"{name} {layer(row)} {row['batch']}", 1e9 * row[f"bytes_{name}"] / row[key], bandwidth)
    yield "quantisation at 0.85 of the copy's bandwidth, from 256 MiB on", *ratio.judge(0.85, above=True)


def pipeline(work):
    ratio = Ratio("ours, samples/s", "PyTorch, samples/s", scale=1)
    for _, ours, theirs in pairs(work, "beside_gpipe", ("model", "attention_axis")):
        ratio.add("K = M = 1", ours["throughput_samples_per_s"] if ours else 0,
                  max(row["throughput_samples_per_s"] for row in theirs))
    yield "pipeline's samples/s no fewer than PyTorch's", *ratio.judge(1.0, above=True)
    published = {}
    row = None
    for line in PUBLISHED_LOG.read_text().splitlines() if PUBLISHED_LOG.exists() else ():
        if match := re.search(r"(num_partitions|num_microbatches|checkpoint_enabled|use_torchgpipe): (\w+)", line):
            row = {} if match[1] == "num_partitions" else row
            if row is not None:
                row[match[1]] = match[2]
        elif (match := re.search(r"Peak Activation Memory: ([\d,]+)", line)) and row and len(row) == 4:
            key = (int(row["num_partitions"]), int(row["num_microbatches"]), row["checkpoint_enabled"] == "True",
                   "torchgpipe" if row["use_torchgpipe"] == "True" else "self")
            published[key] = int(match[1].replace(",", ""))
    ours = {(row["partitions"], row["microbatches"], row["checkpoint"], row["engine"]): row["peak_activation_bytes"]
            for path in sorted(work.glob("gpipe-[0-9]*/results.jsonl")) for row in rows_of(path)
            if row["d_model"] == 768 and row["layers"] == 12 and row["attention_axis"] == "batch"}
    both = [key for key in published if key in ours]
    larger = sorted((ours[key] / published[key], key) for key in both if ours[key] > published[key])
    detail = f"{len(both) - len(larger)} of {len(both)} rows (published: {len(published)})"
    if larger:
        detail += "; larger: " + ", ".join(
            f"K={key[0]} M={key[1]} {'on' if key[2] else 'off'} {key[3]} {by:.2f}" for by, key in larger[-SHOWN:])
    verdict = "not run" if len(both) < len(published) else "reached" if len(both) - len(larger) >= 80 else "missed"
    yield "peak activation memory at most the published in 80 of 84 rows", verdict, detail


def warmups(work):
    ratio = Ratio("without warm-ups, us", "after five, us")
    for path in sorted(work.glob("warmup-*/results.jsonl")):
        forward = {row["warmup"]: mean(row, "forward") for row in rows_of(path)}
        ratio.add(path.parent.name.removeprefix("warmup-"), forward.get(0), forward.get(5))
    if ratio.cases:
        yield "(forward without warm-ups to that after five)", *ratio.told()


def nccl_losses(what, paths):
    losses = {}
    for row in (row for path in paths for row in rows_of(path)):
        case = case_of(row, ("partitions", "microbatches", "engine", "schedule"))
        losses.setdefault(case, {})[row["transport"]] = row["loss"]
    both = {case: loss for case, loss in losses.items() if len(loss) == 2}
    wrong = [case for case, loss in both.items() if abs(loss["local"] - loss["nccl"]) > 1e-6 * abs(loss["local"])]
    verdict = "not run" if not both else "missed" if wrong else "reached"
    detail = f"{len(both) - len(wrong)} of {len(both)} cases" + (f"; not: {', '.join(wrong[:SHOWN])}" if wrong else "")
    yield what, verdict, detail if both else ""


def over_nccl(work):
    yield from nccl_losses("losses over NCCL with one rank those without, to 1e-6", [work / "nccl" / "results.jsonl"])
    if (work / "nccl_devices").exists():
        yield from nccl_losses("losses over NCCL between devices those without, to 1e-6",
                               sorted(work.glob("nccl_devices/*/results.jsonl")))


GOALS = (parts, losses, records, peaks, overhead, linear, fragments, transformer, switchback, quantisation, pipeline, over_nccl, warmups)


def lines(what, verdict, detail):
    yield f"  {what:<62} {verdict:<8} {detail}".rstrip()


def section(what, verdict, detail, *ratios):
    """The same with all cases."""
    yield f"**{what.strip('()')}**" + (f": {verdict}" if verdict else "")
    yield ""
    tables = [ratio for ratio in ratios if ratio.cases]
    for ratio in tables:
        yield from ratio.table()
    if not tables:
        yield detail or "-"
    yield ""


def main():
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    shows_all = len(arguments) + 1 < len(sys.argv)
    if len(arguments) != 1:
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    work = pathlib.Path(arguments[0])
    if not shows_all:
        print(f"  {'goal':<62} {'':<8} decided by")
    for goal in GOALS:
        try:
            for told in goal(work):
                print(*(section(*told) if shows_all else lines(*told[:3])), sep="\n")
        except Exception as error:  # rows that nobody expected: the other goals are still decided
            what, why = f"{goal.__name__} and what follows of it", f"{type(error).__name__}: {error}"
            print(*(section if shows_all else lines)(what, "not run", why), sep="\n")
    for name in ("losses.txt", "int8.txt"):
        path = work / name
        for line in path.read_text().splitlines()[-2:] if path.exists() else ():
            print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
