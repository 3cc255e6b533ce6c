#!/usr/bin/env python3
"""usage: goals.py [--all] FOLDER

Which goals the results of tests/device/run reach. FOLDER is its $WORK, or what pack made of it. A goal is
reached, missed or not run; partly where some of its cases are reached and others were not run. Behind that stands what it
was decided by. Ratios come from rounds in which both
sides were run one after the other: the median over the rounds, and in brackets the least and the largest.
--all: of each goal every case, in Markdown: what both sides took, their ratio and its spread; where one was not run, what
runs it.
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


def rows_of(path, *states):
    """Those that are ok, or in one of these states."""
    if not path.exists():
        return []
    rows = (row_of(line) for line in path.read_text(errors="replace").splitlines())
    return [row for row in rows if row.get("status") in (states or ("ok",))]


def verdict_of(some, wrong, complete):
    return "not run" if not some else "missed" if wrong else "reached" if complete else "partly"


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

    def judge(self, bound, expected, above=False, unfit=(), shown=1):
        """(verdict, detail, self): each case's median at most the bound, or at least. Reached is what has all the cases that
        are expected, but for those that do not fit the memory. So many of the worst are told, more where one is wrong."""
        if not self.cases:
            return "not run", "", self
        missing = set(expected) - set(self.cases)
        does_not_fit = missing & set(unfit)
        missing -= does_not_fit
        wrong = [case for case in self.cases
                 if (self.median(case) < bound if above else self.median(case) > bound)]
        order = sorted(self.cases, key=self.median, reverse=not above)
        counts = {len(values) for values in self.cases.values()}
        rounds = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
        detail = f"{len(self.cases) - len(wrong)} of {len(self.cases) + len(missing)} cases"
        detail += ", not complete" if missing else ""
        detail += f", {len(does_not_fit)} had no room" if does_not_fit else ""
        detail += f", rounds: {rounds}; worst: "
        detail += ", ".join(self.text(case) for case in order[:SHOWN if wrong else shown])
        return verdict_of(True, wrong, not missing), detail, self

    def told(self):
        """The same of what no goal is decided by."""
        return "" if self.cases else "not run", ", ".join(self.text(case) for case in self.cases), self


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


# --- the goals: each yields (what, the parts that it needs, verdict, detail) and a ratio where it has one ---

SIZES, BATCHES = (2048, 4096, 8192), (1, 8, 16)
LAYERS = [f"{size} {batch}" for size in SIZES for batch in BATCHES]
MODELS = ("small", "medium", "large", "xl", "2.7B")
WIDTHS = ((1024, 4096), (1280, 5120), (1408, 5632), (1408, 6144), (1664, 6656), (1664, 8192), (2048, 8192),
          (4096, 16384), (8096, 32384))
# Of the SwitchBack study, in the keys of its rows; the widest layer has no largest batch.
SWITCHBACK = [{"dim": dim, "width_multiplier": wide / dim, "switch": switch, "batch": batch}
              for dim, wide in WIDTHS for switch in (False, True)
              for batch in (1024 << i for i in range(8)) if (dim, batch) != (8096, 131072)]


def state_of(work, part):
    """(its state, what was said of it) of a part."""
    path = work / "state" / part
    state, _, detail = path.read_text().strip().partition("\t") if path.exists() else ("not run", "", "")
    return state, detail


def parts(work):
    for part, what in (("check", "every operation matches double precision"),
                       ("accumulate", "sums bit-identical to the host's"),
                       ("sanitize", "compute-sanitizer clean")):
        state, detail = state_of(work, part)
        yield what, part, {"ok": "reached", "failed": "missed", "partly": "partly"}.get(state, "not run"), detail


def over_parts(what, named, right, total, noun, lacking):
    """A goal of all that some parts leave: partly where a part left nothing, or not all."""
    detail = f"{right} of {total} {noun}" + (f"; not complete: {', '.join(lacking)}" if lacking else "") if total else ""
    return what, named, verdict_of(total, right < total, not lacking), detail


TRACED = ("overhead", "warmup", "transformer", "fragments", "gpipe")


def records(work):
    """A trace of a device without records of it has cost nothing and shows nothing."""
    counts = [row["device_records"] for path in sorted(work.glob("**/results.jsonl")) for row in rows_of(path)
              if "device_records" in row]
    yield over_parts("device records in every trace at kernel and full", " ".join(TRACED), sum(count > 0 for count in counts),
                     len(counts), "traces", [part for part in TRACED if state_of(work, part)[0] != "ok"])


STUDIES = ("fragments", "gpipe", "transformer", "switchback", "warmup", "overhead")


def peaks(work):
    """Of what a folder of rows does not know, it has no shares."""
    known = {study: ["peak_bytes" in json.loads(path.read_text()) for path in sorted(work.glob(f"{study}-*/**/env.json"))]
             for study in STUDIES}
    yield over_parts("measured peaks known to every study", " ".join(STUDIES), sum(map(sum, known.values())),
                     sum(map(len, known.values())), "folders", [study for study in STUDIES if not known[study]])


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
    off = {case: math.inf if loss is None else abs(loss / last - 1) for case, loss in found.items()}  # of no number: NaN
    for precisions in (("fp32",), ("tf32", "fp16"), ("bf16",)):
        mine = {case: by for case, by in off.items() if case[0] in precisions}
        bound = LOSS_BOUNDS[precisions[0]]
        verdict = verdict_of(mine, any(not by <= bound for by in mine.values()), len(mine) == len(precisions) * len(graphs))
        detail = ", ".join(f"{precision}{' in a graph' if graph else ''} {by:.1e}"
                           for (precision, graph), by in mine.items())
        yield f"loss after ten steps, {', '.join(precisions)}: within {bound:.1e} of reference", "losses", verdict, detail
    pairs = {precision: loss for (precision, graph), loss in found.items() if graph and (precision, False) in found}
    wrong = [precision for precision, loss in pairs.items() if loss != found[precision, False]]
    verdict = verdict_of(pairs, wrong, set(pairs) == set(LOSS_BOUNDS))
    yield "CUDA-graph loss bit-identical to eager", "losses", verdict, ", ".join(
        f"{precision} {loss!r}, not {found[precision, False]!r}" if precision in wrong else precision
        for precision, loss in pairs.items())


# The overhead: what the published figures are of, and layers of one launch or of many short ones, with a wait for the
# device behind each forward pass or each fragment.
MEASURED = ("language model", "linear layer", "fragments")


def overhead_case(row):
    """(which of MEASURED, the case) of a row."""
    if row["workload"] == "transformer":
        return MEASURED[0], row["size"] or "another size"
    if row["mode"] == "linear":
        return MEASURED[1], str(row["size"])
    return MEASURED[2], " ".join(str(row[key]) for key in ("size", "fragments", "variant") if row[key] is not None)


def typical(row, name):
    """The median of the iterations, as `stats -r overhead` has it of several rounds (of a single one it has the ratio of the
    means), or their mean where that is all there is."""
    median = row.get(f"{name}_ns_median")
    return mean(row, name) if median is None else median


def launches(path, row):
    """Operations of the device in a forward pass, by what is told of the row's trace; none where nothing is."""
    told = path.parent / (str(row.get("trace")).removesuffix(".nvt") + "-ranges.txt")
    for line in csv.DictReader(told.read_text().splitlines() if told.exists() else ()):
        if line.get("Range") == "nvtally:forward":
            return float(line["Avg GPU Ops"])
    return None


# CUPTI in the collector's place, asked as that level asks: what no collector with CUPTI takes less of.
ALONE = {"kernel": "cupti-kernel", "full": "cupti-full"}


def twice(work):
    """By (what, level) the times of a layer to those that it had before in the same process, without anything recorded."""
    ratios = {}
    for path in sorted(work.glob("twice-[0-9]*/*/results.jsonl")):
        bare, then = ([*rows_of(path), None, None])[:2]
        if bare and then and (path.parent / "done").exists():
            what, case = overhead_case(then)
            level = "again" if then["collect"] == "off" else then["collect"]
            ratio = ratios.setdefault((what, level), Ratio(f"{level}, us", "baseline, us"))
            ratio.add(case, typical(then, "forward"), typical(bare, "forward"))
    return ratios


def overhead(work):
    ratios = {(what, level): Ratio(f"{level}, us", "baseline, us", note="us an operation") for what in MEASURED
              for level in ("nvtx", "kernel", "full", "nsys", "cupti-records", *ALONE.values())}
    ours = {(what, level): Ratio(f"{level}, us", f"{alone}, us") for what in MEASURED for level, alone in ALONE.items()}
    added, counts, unfit, bare, times_of = {}, {}, set(), {}, {}
    for path in sorted([*work.glob("overhead-[0-9]*/*/results.jsonl"), *work.glob("nsys-[0-9]*/*/results.jsonl")]):
        unfit.update(overhead_case(row)[1] for row in rows_of(path, "oom"))
        rows = [(*overhead_case(row), row) for row in rows_of(path)]
        # CUPTI alone has a folder of its own in a round, and no bare rows there: those are of our levels' folder before it.
        at = path.parent.parent.name, path.parent.name.partition("-cupti-")[0]
        bare.update(((*at, what, case), typical(row, "forward")) for what, case, row in rows if row["collect"] == "off")
        for what, case, row in rows:
            key, time, below = (what, row["collect"]), typical(row, "forward"), bare.get((*at, what, case))
            if key in ratios and below and time and row.get("device_records") != 0:
                ratios[key].add(case, time, below)
                added.setdefault((*key, case), []).append(time - below)
                counts[what, case] = counts.get((what, case)) or launches(path, row)
                times_of[(*at, *key, case)] = time
    for (*at, what, level, case), time in times_of.items():
        if level in ALONE:
            ours[what, level].add(case, time, times_of.get((*at, what, ALONE[level], case)))
    within = twice(work)
    for (what, level, case), times in added.items():
        if counts[what, case]:
            ratios[what, level].notes[case] = f"{statistics.median(times) / counts[what, case] * 1e-3:+.2f}"
    for what, expected in zip(MEASURED, (MODELS, ("2048",), ("2048 32 looped", "2048 32 grouped"))):
        for level, bound in (("kernel", 1.03), ("full", 1.10)):
            # What differs from one process to the next is in the one, and not in the other.
            part, ratio = ("twice", within[what, level]) if (what, level) in within else ("overhead", ratios[what, level])
            judged = ratio.judge(bound, expected, unfit=unfit, shown=1 if what == MEASURED[0] else SHOWN)
            yield f"{what}: forward at {level} at most {bound:.2f} x baseline", part, *judged
            if part == "twice":
                yield f"({what}: forward at {level}, each in a process of its own)", "overhead", *ratios[what, level].told()
        if (what, "again") in within:
            yield f"({what}: forward a second time, not recorded)", "twice", *within[what, "again"].told()
        yield f"({what}: forward at nvtx)", "overhead", *ratios[what, "nvtx"].told()
        for level, alone in ALONE.items():
            if ours[what, level].cases:
                yield f"({what}: forward with CUPTI alone at {level}, to baseline)", "overhead", *ratios[what, alone].told()
                yield f"({what}: forward at {level} to CUPTI alone)", "overhead", *ours[what, level].told()
        if ratios[what, "cupti-records"].cases:
            yield f"({what}: forward with CUPTI alone, no calls)", "overhead", *ratios[what, "cupti-records"].told()
    yield f"({MEASURED[0]}: forward at nsys, published 1.28 to 2.87)", "nsys", *ratios[MEASURED[0], "nsys"].told()
    yield f"({MEASURED[2]}: forward at nsys)", "nsys", *ratios[MEASURED[2], "nsys"].told()


def linear(work):
    for phase in ("forward", "backward"):
        ratio = beside(work, "beside_linear", ("size", "batch"), phase, lambda row: row["mode"] == "linear")
        yield f"linear {phase} no slower than PyTorch", "beside_linear", *ratio.judge(1.0, LAYERS)


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
    yield "grouped forward, 128 fragments at most 1.3 of 2", "beside_linear", *flat.judge(1.3, LAYERS)
    yield ("grouped forward, 128 fragments, 20 times PyTorch's looped", "beside_linear",
           *faster.judge(20, LAYERS, above=True))
    yield from other_forms(work)


def other_forms(work):
    """Of the same form as PyTorch's: the soft layer in training, and the loop over the fragments."""
    for mode, variant, what in (("train", None, "soft training"), ("inference", "looped", "looped")):
        for phase in ("forward", "backward"):
            ratio = Ratio("ours, us", "PyTorch, us")
            for ours, theirs in rounds(work, "beside_forms"):
                form = [{case_of(row, ("size", "batch", "fragments")): mean(row, phase) for row in rows
                         if (row["mode"], row["variant"]) == (mode, variant)} for rows in (ours, theirs)]
                for case, time in form[0].items():
                    ratio.add(case, time, form[1].get(case))
            yield f"({what} {phase}, ours to PyTorch's)", "beside_forms", *ratio.told()


def transformer(work):
    cases = ("size", "precision")
    expected = [f"{size} {precision}" for size in MODELS for precision in ("fp32", "bf16")]
    unfit = {case_of(row, cases) for folder in work.glob("beside_transformer-[0-9]*")
             for name in ("ours/results.jsonl", "torch.jsonl") for row in rows_of(folder / name, "oom")}
    for phase in ("forward", "backward"):
        # Eager PyTorch has a fused attention to choose; the goal is of the one whose operations ours has, too.
        eager, fused = (beside(work, part, cases, phase, lambda row: row["phase"] == "forward_backward")
                        for part in ("beside_transformer", "beside_fused"))
        yield (f"transformer {phase} at most eager's, attention written out", "beside_transformer",
               *eager.judge(1.0, expected, unfit=unfit))
        yield f"(transformer {phase}, to scaled_dot_product_attention)", "beside_fused", *fused.told()


# The model at which 16 bits are to be worth something: products are large, and nothing waits for launches.
LONG, LOW = ("xl", "2.7B"), ("bf16", "fp16")


def precisions(work):
    faster = Ratio("16 bits, us", "tf32, us")
    near = Ratio("GFLOP/s", "peak, GFLOP/s", scale=1e-9)
    for folder in sorted(work.glob("precisions-[!t]*")):
        rows = [row for row in rows_of(folder / "results.jsonl") if (row["batch"], row["context"]) == (4, 1024)]
        environment = folder / "env.json"
        known = json.loads(environment.read_text()) if environment.exists() else {}
        times = {(row["precision"], phase): mean(row, phase) for row in rows for phase in ("forward", "backward")}
        for row in rows:
            for phase in ("forward", "backward") if row["precision"] in LOW else ():
                case, took = f"{case_of(row, ('size', 'precision'))} {phase}", times[row["precision"], phase]
                faster.add(case, took, times.get(("tf32", phase)))
                near.add(case, row[f"flops_{phase}"] * 1e9 / took if took else None, known.get(f"peak_flops_{row['precision']}"))
    cases = [f"{size} {precision} {phase}" for size in LONG for precision in LOW for phase in ("forward", "backward")]
    yield "bf16, fp16 in 1/1.6 of tf32's time at 4 x 1,024 tokens", "precisions", *faster.judge(1 / 1.6, cases)
    yield "bf16, fp16 at 45 % of peak at 4 x 1,024 tokens", "precisions", *near.judge(0.45, cases, above=True)


STANDARD = ("standard_fwd", "standard_gw", "standard_gx")
GLOBAL = ("x_quantize_rowwise", "g_quantize_rowwise", "w_quantize_global", "w_quantize_global_transpose",
          "standard_gw", "global_fwd", "global_bwd")


def total(row, names):
    times = [mean(row, name) for name in names]
    return None if None in times else sum(times)


def layer(row):
    return f"{row['dim']}·{row['width_multiplier']:.3g} {'back' if row['switch'] else 'out'}"


def study_rows(work, *states):
    for folder in sorted(work.glob("switchback-[0-9]*")):
        environment = folder / "env.json"
        if environment.exists():
            bandwidth = json.loads(environment.read_text()).get("peak_bytes")
            for row in rows_of(folder / "results.jsonl", *states):
                yield row, bandwidth


def switchback(work):
    sooner = Ratio("time_global, us", "fp16, us")
    beside = {path: Ratio("ours, us", f"the {path} path, us") for path in ("torch", "triton")}
    found = [row for ours, _ in rounds(work, "beside_switchback") for row in ours]
    for row in found + [row for row, _ in study_rows(work)]:
        if row["dim"] >= 1280 and row["batch"] == 32768:
            sooner.add(layer(row), total(row, GLOBAL), total(row, STANDARD))
    expected = [layer(row) for row in SWITCHBACK if row["dim"] >= 1280 and row["batch"] == 32768]
    yield ("time_global below fp16's from dim 1280 on, batch 32768", "beside_switchback switchback",
           *sooner.judge(1.0, expected, unfit={layer(row) for row, _ in study_rows(work, "oom") if row["batch"] == 32768}))
    for ours, theirs in rounds(work, "beside_switchback"):
        for row in theirs:
            for mine in ours:
                if layer(mine) == layer(row) and mine["batch"] == row["batch"]:
                    beside[row["backend"]].add(layer(row), total(mine, GLOBAL), total(row, GLOBAL))
    for path, ratio in beside.items():
        verdict, detail, _ = ratio.judge(1.0, ())
        yield (f"(time_global, ours to the {path} path)", "beside_switchback", "" if ratio.cases else verdict, detail,
               ratio)


def tensor_bytes(row, operation):
    narrow, wide = row["dim"], int(row["dim"] * row["width_multiplier"])
    features, out = (wide, narrow) if row["switch"] else (narrow, wide)
    return 2 * {"x": row["batch"] * features, "g": row["batch"] * out, "w": features * out}[operation[0]]


QUANTISED = ("x_quantize_rowwise", "g_quantize_rowwise", "w_quantize_rowwise", "w_quantize_colwise_transpose",
             "w_quantize_global", "w_quantize_global_transpose")


def quantisation(work):
    """To the faster of our copy and PyTorch's on a device of that kind."""
    ratio = Ratio("GB/s", "the copy's GB/s", scale=1e-9)
    expected = [f"{name} {layer(row)} {row['batch']}" for row in SWITCHBACK for name in QUANTISED
                if tensor_bytes(row, name) >= MIB_256]
    copies = [(row.get("device"), row.get("copy_bytes_per_s", 0))
              for _, theirs in rounds(work, "beside_switchback") for row in theirs]
    for row, copy in study_rows(work):
        bandwidth = max([copy or 0] + [theirs for device, theirs in copies if device == row.get("device")])
        for key in row:
            name = key.removesuffix("_ns_mean")
            if name != key and "quantize" in name and tensor_bytes(row, name) >= MIB_256 and row[key]:
                ratio.add(f"{name} {layer(row)} {row['batch']}", 1e9 * row[f"bytes_{name}"] / row[key], bandwidth)
    yield ("quantisation at 0.85 of the copy's bandwidth, from 256 MiB on", "switchback",
           *ratio.judge(0.85, expected, above=True, unfit={
               f"{name} {layer(row)} {row['batch']}" for row, _ in study_rows(work, "oom") for name in QUANTISED}))


def pipeline(work):
    ratio = Ratio("ours, samples/s", "PyTorch, samples/s", scale=1)
    for _, ours, theirs in pairs(work, "beside_gpipe", ("model", "attention_axis")):
        ratio.add("K = M = 1", ours["throughput_samples_per_s"] if ours else 0,
                  max(row["throughput_samples_per_s"] for row in theirs))
    yield "pipeline's samples/s no fewer than PyTorch's", "beside_gpipe", *ratio.judge(1.0, ("K = M = 1",), above=True)
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
    detail = f"{len(both) - len(larger)} of {len(both)} rows (published: {len(published)})" if both else ""
    if larger:
        detail += "; larger: " + ", ".join(
            f"K={key[0]} M={key[1]} {'on' if key[2] else 'off'} {key[3]} {by:.2f}" for by, key in larger[-SHOWN:])
    verdict = verdict_of(both, len(larger) > 4, both and len(both) == len(published))
    yield "peak activation memory at most the published in 80 of 84 rows", "gpipe", verdict, detail


def warmups(work):
    ratio = Ratio("without warm-ups, us", "after five, us")
    for path in sorted(work.glob("warmup-*/results.jsonl")):
        forward = {row["warmup"]: mean(row, "forward") for row in rows_of(path)}
        ratio.add(path.parent.name.removeprefix("warmup-"), forward.get(0), forward.get(5))
    yield "(forward without warm-ups to that after five)", "warmup", *ratio.told()


def agree(loss, expected):
    """To 1e-6; nothing agrees with what is no number."""
    return loss is not None and expected is not None and abs(loss - expected) <= 1e-6 * abs(expected)


def nccl_losses(what, part, paths, expected):
    losses = {}
    for row in (row for path in paths for row in rows_of(path)):
        case = case_of(row, ("partitions", "microbatches", "engine", "schedule"))
        losses.setdefault(case, {})[row["transport"]] = row["loss"]
    both = {case: loss for case, loss in losses.items() if len(loss) == 2}
    wrong = [case for case, loss in both.items() if not agree(loss["nccl"], loss["local"])]
    detail = f"{len(both) - len(wrong)} of {expected} cases" + (f"; not: {', '.join(wrong[:SHOWN])}" if wrong else "")
    yield what, part, verdict_of(both, wrong, len(both) >= expected), detail if both else ""


def over_devices(work):
    """Where there are several: every row that ran on all of them, and on one."""
    keys = ("partitions", "microbatches", "engine", "schedule")
    on_all, on_one = ({case_of(row, keys): row["loss"] for row in rows_of(work / "devices" / which / "results.jsonl")}
                      for which in ("all", "one"))
    both = on_all.keys() & on_one.keys()
    wrong = sorted(case for case in both if not agree(on_all[case], on_one[case]))
    detail = f"{len(both) - len(wrong)} of 4 cases" + (f"; not: {', '.join(wrong[:SHOWN])}" if wrong else "")
    yield ("losses on all devices equal one device's, to 1e-6", "devices", verdict_of(both, wrong, len(both) >= 4),
           detail if both else "")


def over_nccl(work):
    yield from nccl_losses("losses over NCCL, one rank, equal those without, to 1e-6", "nccl",
                           [work / "nccl" / "results.jsonl"], 12)
    yield from nccl_losses("losses over NCCL, several, equal those without, to 1e-6", "nccl_devices",
                           sorted(work.glob("nccl_devices/*/results.jsonl")), 2)


# What the studies have: the part, its rows' folders, how many rows, and by which keys these are told apart.
TABLES = (("fragment study", "fragments", "fragments-[0-9]*", 117, ("size", "batch", "mode", "fragments", "variant"),
           lambda row: row["size"] in SIZES),
          ("SwitchBack study", "switchback", "switchback-[0-9]*", len(SWITCHBACK),
           ("dim", "width_multiplier", "switch", "batch"), lambda row: row["dim"] >= 1024),
          ("pipeline study", "gpipe", "gpipe-[0-9]*", 84, ("partitions", "microbatches", "checkpoint", "engine"),
           lambda row: row["d_model"] == 768 and row["layers"] == 12),
          ("language model", "transformer", "transformer-[!t]*", 120, ("size", "precision", "phase", "graph"),
           lambda row: row["size"] in MODELS),
          ("warm-up study", "warmup", "warmup-*", 20, ("size", "warmup"), lambda row: row["size"] in MODELS))


def tables(work):
    """Rows that are ok or do not fit the memory, each once."""
    for what, part, folders, count, keys, chosen in TABLES:
        rows = {case_of(row, keys) for path in sorted(work.glob(folders + "/results.jsonl"))
                for row in rows_of(path, "ok", "oom") if chosen(row)}
        yield (f"{what}: {count} rows", part, verdict_of(rows, False, len(rows) == count),
               f"{len(rows)} of {count} rows" if rows else "")


GOALS = (parts, losses, records, peaks, overhead, linear, fragments, transformer, precisions, switchback, quantisation, pipeline,
         over_devices, over_nccl, warmups, tables)


def lines(what, _, verdict, detail, *__):
    yield f"  {what:<62} {verdict:<8} {detail}".rstrip()


def section(what, part, verdict, detail, *ratios):
    """The same with all cases; of what was not run, what runs it."""
    title = f"**{what[1:-1]}**, which decides nothing" if what[0] == "(" else f"**{what}**"
    yield title + (f": {verdict}" if verdict else "")
    yield ""
    if part and verdict in ("not run", "partly"):
        yield f"`tests/device/run {part}`"
        yield ""
    tables = [ratio for ratio in ratios if ratio.cases]
    for ratio in tables:
        yield from ratio.table()
    if not tables and (detail or not part):
        yield detail or "-"
    if tables or detail or not part:
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
                print(*(section if shows_all else lines)(*told), sep="\n")
        except Exception as error:  # rows that nobody expected: the other goals are still decided
            what, why = f"{goal.__name__} and what follows of it", f"{type(error).__name__}: {error}"
            print(*(section if shows_all else lines)(what, "", "not run", why), sep="\n")
    for name in ("losses.txt", "int8.txt"):
        path = work / name
        for line in path.read_text().splitlines() if path.exists() else ():
            if "off by at most" in line:
                print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
